// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package report says what has changed on the assets of a list since the report before, and writes it for people and programs.
// It asks nobody: whoever uses it hands over the assets with their tickets, one by one, and gets a Report.
//
// # What is known of an asset
//
//	online         its step online says so
//	offline        its step online says so, and nothing failed
//	failed         its ticket is FAILED, or a failure is recorded and nothing was decided, or nobody could be told; with the step
//	               and its error
//	not scanned    it has no ticket, or was not settled when the report was made, or is in the list no more
//	unreached      it is offline; newly, if it was not in the report before
//	high risk      it was assessed as such: true, false, or not known
//
// # What has become of a finding
//
//	now        base       it is
//	listed     listed     open; changed where id, severity, score, package, place, fix version or exploitation differ
//	listed     –          new; unknown where the base's list was cut, and something as grave may be missing there
//	–          listed     fixed; unknown where the asset was not scanned now, its list was cut, or its scanner could not try all
//	accepted   –          accepted, whatever the base has
//
// The base is an earlier ticket that was scanned to its end. What could not be scanned is never fixed. Without a base all is new.
// A scan says itself that it could not try all (the fact incomplete). What it did not find then stays in the base as an earlier ticket
// has it, and an asset that was at high risk is not called so no longer.
//
// # What makes two findings one
//
// Each finding is matched with one of the base at most, by the first of these keys that both have. Of each key the id is tried
// first, then any alias. Findings that both name CVEs must share one: an advisory covers several.
//
//	title, package with version, place
//	package with version, place
//	package, place
//	package with version, place without line numbers
//	package, place without line numbers
//	place, on the network      the service behind a port has changed, or was not recognised
//	package with version       not on the network: two ports, or two pages, are two findings
//	package
//
// A place counts without what changes with each scan (findings.Finding.Place).
//
// # Memory
//
// Counts are whole. Of each section the most severe are kept, and of equal findings on several assets a group. Whoever wants all
// rows takes them as they come (see New).
package report
