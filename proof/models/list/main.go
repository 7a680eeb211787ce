// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command list is an explicit-state model of how a list ends (engine/store/chunk.go, agent/chunks.go, agent/memory.go): which assets of it
// are done is read from their tickets, a chunk at a time, and a chunk of which all are done is marked, so that others pass over it. A mark is
// a hint. It is voided when a ticket of the task is reopened, and counts for nothing on other data than those that it was made on.
//
// There is one asset. Its ticket is on one master, the task's marks are on another, each with a replica, as in a Cluster. Two daemons read
// and mark; a run over the list asks the one, and an administrator reopens the ticket at the other. Any of it may stand still for long
// between two steps; either daemon may die for good; a master may lose its data, be followed by its replica, and follow that one again.
//
//	go run ./proof/models/list               the design, and each rule left out; exit 1 if the design fails or one is not caught
//	go run ./proof/models/list -only NAME    one of them
//
// What is looked for:
//
//	passed over  a mark is taken for the ticket, which is not terminal
//	ended        a run ends and calls the asset done, and its ticket is not terminal
//
// Excused is what nobody could know: Redis lost data since the daemon last looked at the masters; a reopen is under way, or got no answer a
// moment ago. Two things are left out, as a look may not see them: tickets that expire under a run which lasts for longer than they
// live, and a Redis that does not tell which run of a server it is.
package main

import "github.com/picketd/picket/proof/models/explore"

var all = Rules{true, true, true, true, true, true, true, true, true, true, true, true}

// without is the design without a rule, with no more faults than it takes.
func without(left Left, rule func(*Rules)) func() explore.Result {
	r := all
	rule(&r)
	return Run{r, left}.explore
}

var (
	one      = Left{losses: 1, others: 1}
	two      = Left{losses: 2, others: 1}
	reopened = Left{reopens: 1, deaths: 1, others: 1}
)

// designs take a minute.
var designs = []explore.Model{
	explore.Design("design", "as designed; a reopen, a loss of data, a death", Run{all, Left{1, 1, 1, 1}}.explore),
	explore.Design("design-losses", "as designed; 2 losses of data", Run{all, two}.explore),
}

var small = []explore.Model{
	explore.Design("design-loss", "as designed; a loss of data, a death", Run{all, Left{losses: 1, deaths: 1, others: 1}}.explore),
	explore.Design("design-reopens", "as designed; 2 reopens", Run{all, Left{reopens: 2, deaths: 1, others: 1}}.explore),
	explore.Mutation("epoch-after", "the epoch is read after the tickets", without(reopened, func(r *Rules) { r.epochFirst = false })),
	explore.Mutation("standing-after", "which data Redis has is asked after the tickets", without(one, func(r *Rules) { r.standingFirst = false })),
	explore.Mutation("any-epoch", "marked in whatever epoch", without(reopened, func(r *Rules) { r.epoch = false })),
	explore.Mutation("mark-reopening", "marked while a ticket is being reopened", without(reopened, func(r *Rules) { r.reopening = false })),
	explore.Mutation("no-unmark-before", "marks taken away only after a ticket was reopened", without(reopened, func(r *Rules) { r.unmarkBefore = false })),
	explore.Mutation("no-unmark-after", "marks taken away only before a ticket is reopened", without(reopened, func(r *Rules) { r.unmarkAfter = false })),
	explore.Mutation("late-reopen", "a reopen that comes late is done", without(reopened, func(r *Rules) { r.late = false })),
	explore.Mutation("any-data", "a mark of other data counts", without(one, func(r *Rules) { r.standing = false })),
	explore.Mutation("run-id", "data are told apart by the run of the server alone", without(Left{losses: 2}, func(r *Rules) { r.promotions = false })),
	explore.Mutation("damaged", "marks count though a ticket is known to be damaged", without(reopened, func(r *Rules) { r.damaged = false })),
	explore.Mutation("ageless", "a mark outlives its tickets", without(reopened, func(r *Rules) { r.age = false })),
	explore.Mutation("unchecked", "a run asks nothing at its end", without(one, func(r *Rules) { r.check = false })),
}

func main() { explore.Main(func() []explore.Model { return append(designs, small...) }) }
