// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command retry is an explicit-state model of an operator's retries of a notification (engine/delivery/retry.go): two hosts, two channels,
// the agent's intent and two that retries put in its place, each while the other channel may be in flight under the intent before. With
// crashes, a death for good, lost replies, a retry's write that lands late or comes twice, leases that end under a holder that is
// frozen, and a failover that loses the newest retry.
//
//	go run ./proof/models/retry               the design in three kinds of channels, and each rule left out
//	go run ./proof/models/retry -only NAME    one of them
//	go run ./proof/models/retry -most 1       the designs of one retry with so many faults on a path
//
// What is looked for:
//
//	lost     an operator was told that a channel is tried again (or an agent that it is sent at all), and steps that are not faults lead
//	         to no send on it. A loss of data excuses it
//	repeat   a notification that arrives without an excuse. One each have: the first; a channel that a retry found dead or parked; a crash
//	         between send and outcome; a lease that ended under a holder that is frozen or away. No count is kept once data was lost
//	once     the same on an at_most_once channel, where a crash and a lease's end excuse nothing
//	twice    a retry that takes effect a second time, though no data was lost
//	stuck    a ticket that steps which are not faults cannot bring out of NOTIFYING
//
// Simpler than the design: that staged and hinted comes before written, and how one host takes over from another, is for the models of a
// delivery and of takeovers; nothing is sent without Redis; a receiver accepts, or refuses for good on channel 0; a person who decides
// about what is parked says that it arrived; a retry is about all channels that are dead or parked.
package main

import (
	"flag"
	"fmt"

	"github.com/picketd/picket/proof/models/explore"
)

var (
	normal = [channels]bool{}
	first  = [channels]bool{true, false} // the one that is retried is at_most_once
	second = [channels]bool{false, true} // the one in flight is
	one    = Left{retry: 1, no: 1, crash: 2, death: 1, lost: 1, late: 1, expire: 1}
	two    = Left{retry: 2, no: 2, crash: 2, death: 1, lost: 1, late: 1, expire: 1}
)

var designs = []Run{
	{"design", "two channels", Rules{}, normal, one, 2},
	{"design-once", "the retried channel is at_most_once", Rules{}, first, one, 2},
	{"design-once-2", "the other channel is at_most_once", Rules{}, second, one, 2},
	{"design-loss", "two channels, and a failover", Rules{}, normal, Left{retry: 1, no: 1, crash: 1, lost: 1, late: 1, loss: 1}, 2},
	{"design-again", "two channels, two retries", Rules{}, normal, two, 1},
	{"design-again-once", "the retried channel is at_most_once, two retries", Rules{}, first, two, 1},
}

// The mutations, each with no more faults than it takes.
var mutations = []Run{
	{"any-before", "a late copy replaces whatever intent", Rules{anyBefore: true}, normal, Left{retry: 2, no: 3, late: 1}, 1},
	{"settled-too", "a retry of what was settled meanwhile", Rules{settledToo: true}, second, Left{retry: 1, no: 1, crash: 1}, 1},
	{"retry-all", "what is in flight is tried again, too", Rules{retryAll: true}, normal, Left{retry: 1, no: 1}, 0},
	{"never-settle", "a retry without an answer is left alone", Rules{neverSettle: true}, normal, Left{retry: 1, no: 1, lost: 1}, 1},
	{"nameless", "an attempt names no intent, two at once", Rules{nameless: true, twoAtOnce: true}, normal, Left{retry: 1, no: 1}, 0},
	{"own-in-flight", "over one's own live attempt, two at once", Rules{ownInFlight: true, twoAtOnce: true}, normal, Left{retry: 1, no: 1}, 0},
	{"late-moves", "an outcome counts under whatever attempt", Rules{lateMoves: true}, normal, Left{retry: 1, no: 2, crash: 1}, 1},
	{"old-receipt", "the receipt of a replaced intent moves nothing", Rules{oldReceipt: true}, normal, Left{retry: 1, no: 1}, 0},
	{"begun-is-begun", "at_most_once: a retry is parked for what was begun", Rules{begunIsBegun: true}, first, Left{retry: 1, crash: 1}, 1},
	{"shut-for-good", "what a retry replaced is not taken up again", Rules{shutForGood: true}, normal, Left{retry: 1, no: 1, loss: 1}, 1},
}

// models are the designs with so many faults on a path and one retry, or as many as each is given here, and the mutations.
func models(most uint8) (all []explore.Model) {
	for _, r := range designs {
		switch {
		case most > 0 && r.given.retry > 1:
			continue
		case most > 0:
			r.most = most
		}
		all = append(all, explore.Design(r.name, fmt.Sprintf("%s; %d faults on a path", r.what, r.most), r.explore))
	}
	for _, r := range mutations {
		all = append(all, explore.Mutation(r.name, r.what, r.explore))
	}
	return all
}

func main() {
	most := flag.Uint("most", 0, "so many faults on a path, of the designs of one retry alone")
	explore.Main(func() []explore.Model { return models(uint8(*most)) })
}
