// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package soak has three daemons do steady work for long, and demands that nothing grows: make soak.
//
// # The work
//
// Two daemons are measured; a third is killed and started again in every round, so that others take over what it had. Agents claim,
// record steps, notify, finish, give up, wait for each other's assets and are killed; others hold claims and watch them; picket run goes
// through lists and tells of them in a report; picket ui is looked at; receivers of notifications end, come back and refuse. The pace is
// fixed, so what lives at any time is the same from round to round.
//
// # What is measured, and how it is judged
//
// Each round ends in a rest: whoever works stops, while claims are still held and watched. Once the daemons have given memory back, all
// series are taken three times. A series is flat if its median over the last quarter of the rests is at most that over the second
// quarter and what it is allowed (series_test.go). The first quarter is the start: pools fill, and nothing has run out yet.
//
// # What is not as in use
//
// Tickets must live for an hour at least, or nothing would run out in a soak. The daemons are built with shorter lives
// (build_test.go says which); the same way, a leak is built in, to show that it is seen.
package soak
