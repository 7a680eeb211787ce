// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command picket is the daemon, and what agents and people use to talk to it.
//
// Every command but daemon, dev and version works through the daemon's socket with package client alone.
//
// Output. Listings are tables for people; with --json they are the API's answer, one JSON object on one line (ticket export:
// one object for each ticket). Calls that change something print a line on a terminal and nothing elsewhere, so that a script
// under exec keeps its standard output for itself. Errors are one line on standard error, "picket: …"; with --json, one that
// the daemon answered is its problem object instead. What came from outside has its control characters escaped.
//
// Size. There is a file for each command, and nobody but main uses them, so they stay together though they are many. What makes
// sense without flags, tables and exit codes is in packages of its own: daemon, daemon/doctor, agent, audit, sockapi/client.
//
// Exit codes. See exit.go. A ticket or an intent that is not there is 1; a claim that the daemon does not know is 124, like a
// lost one, because ended claims are remembered for some minutes only.
package main
