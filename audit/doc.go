// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package audit is the home of the audit: what its records say, how they reach the journal, and how they are read there and counted.
// It knows nothing else of Picket; engine and sockapi hand it events through function values. Files, each resting on those below:
//
//	recorder.go   numbers records and brings them to a sink, for a daemon that never waits for one
//	refusals.go   what one user's refused calls take of it
//	marks.go      which numbers the journal took
//	sink.go       the journal, and JSON lines
//	verify.go     which numbers are missing, and what accounts for them
//	journal.go    records out of the journal
//	read.go       records out of lines, which are wanted, and whom to believe
//	record.go     a record, its fields and its sentence
//	span.go       rows of numbers
//	kinds.go      every kind: its id, priority and sentence
//	event.go      what engine, sockapi and daemon hand over
//
// A column of the audit is a field of Record or Event with the tag journal, and a row in docs/audit.md. A kind is a constant, a row in
// meanings, one in docs/audit.md and a text in packaging/picket.catalog. Tests hold these against each other.
package audit
