// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package audit is the home of the audit: what its records say, how they reach the journal, and how they are read there and counted.
// It knows nothing else of Picket; engine and sockapi hand it events through function values. Files, each resting on those below:
//
//	recorder.go   numbers records and brings them to a sink, for a daemon that never waits for one
//	refusals.go   what one user's refused calls take of it
//	marks.go      which numbers the journal took
//	sink.go       the journal, and JSON lines
//	record.go     a record, its fields and its sentence
//	kinds.go      every kind: its id, priority and sentence
//	event.go      what engine, sockapi and daemon hand over
//
// Docs/audit.md and packaging/picket.catalog are held against the kinds and the fields by tests.
package audit
