// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command end is an explicit-state model of how one claim ends (engine/end.go, finish.go, unanswered.go): by a finish, by a release, by several
// of them at the same time, or by a loss. Requests and answers get lost, the trust runs out, a renewal finds no lock, an administrator breaks
// it, another takes the asset, the daemon crashes and starts again on its journal while a request is on its way.
//
//	go run ./proof/models/end               the design, and each rule left out; exit 1 if the design fails or one is not caught
//	go run ./proof/models/end -only NAME    one of them
//
// What is looked for:
//
//	lost and done      the audit, or the answer to a call, says that the claim was lost, and one of them that a call has ended it
//	done and is not    an end is answered as done that does not stand on the ticket
//	never told         a loss of which no steps but faults lead to the audit
//
// A request that lands after its caller gave it up does so after a crash only; one that the network held up for longer than a call
// lasts leaves the answers as they are, and the ticket with an end that nobody was told of.
package main

import "github.com/picketd/picket/proof/models/explore"

var (
	mixed    = [callers]Caller{{kind: finish, tries: 2}, {kind: release, tries: 2}}
	finishes = [callers]Caller{{kind: finish, tries: 2}, {kind: finish, tries: 1}}
	all      = Left{silences: 2, refusals: 1, unreadables: 1, takes: 1, breaks: 1, crashes: 1}
	calm     = Left{silences: 1, refusals: 1, unreadables: 1, takes: 1, breaks: 1}
)

var variants = []explore.Model{
	explore.Design("design", "a finish and a release, each twice", Run{callers: mixed, left: all}.explore),
	explore.Design("design-finishes", "two finishes, one of them twice", Run{callers: finishes, left: all}.explore),
	explore.Mutation("one-flag", "the first end that is over says that none is under way", Run{Rules{oneFlag: true}, mixed, calm}.explore),
	explore.Mutation("sent-is-finished", "a finish that was sent counts as landed", Run{Rules{sentIsFinished: true}, mixed, calm}.explore),
	explore.Mutation("late-is-done", "a release counts though another has the asset", Run{Rules{lateIsDone: true}, mixed, calm}.explore),
	explore.Mutation("held-is-done", "a release counts though the lock was broken", Run{Rules{heldIsDone: true}, mixed, calm}.explore),
	explore.Mutation("noted-late", "an end that got no answer is noted when it is known", Run{Rules{notedLate: true}, mixed, calm}.explore),
	explore.Mutation("read-first", "a finish ends the claim when it can be answered", Run{Rules{readFirst: true}, mixed, calm}.explore),
	explore.Mutation("no-turn", "what became of an end is asked while one is under way", Run{Rules{noTurn: true}, mixed, calm}.explore),
	explore.Mutation("not-asked", "a loss is told without asking", Run{Rules{notAsked: true}, mixed, calm}.explore),
	explore.Mutation("lost-is-lost", "a finish is refused while that is asked", Run{Rules{lostIsLost: true}, finishes, calm}.explore),
	explore.Mutation("restart-forgets", "a run trusts that none before it sent an end", Run{Rules{restartForgets: true}, mixed, all}.explore),
	explore.Mutation("never-asked", "nobody asks but the agent", Run{Rules{neverAsked: true}, mixed, calm}.explore),
}

func main() { explore.Main(func() []explore.Model { return variants }) }
