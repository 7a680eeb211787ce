// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package delivery is a notification's life towards Redis, from the call that asks for it until the ticket leaves NOTIFYING. The
// specification is outbox/doc.go; what is sent, and when, is the notifier's.
//
//	Accept             accept.go     stages 1 to 4: staged in the outbox, hinted, written as NOTIFYING, committed
//	FollowStaged       staged.go     asks Redis what became of what is staged without a running call
//	Attempt, Outcome   attempt.go    may this daemon send now, and what became of it
//	Heed               heed.go       brings what was decided elsewhere into this outbox
//	Sweep              sweep.go      goes through the tickets that this daemon answers for (answer.go)
//	take over          takeover.go   goes through those of daemons that are gone, and of those who offer them
//	Retire             retire.go     goes through those of a daemon that is gone for good
//	Walk               walk.go       finds what a failover or an expiry left, once an hour in the fleet
//	Discard, Settle    decide.go     what administrators say; Retry in retry.go; what Redis lost in lost.go
package delivery
