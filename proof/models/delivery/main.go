// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command delivery is an explicit-state model of a notification's life (outbox/doc.go): two hosts, one
// ticket, every interleaving of their steps with crashes, one death for good, lost replies, a write that lands late,
// leases that run out under a live holder, cuts from Redis, lost data, a failover that loses what no replica has, copies of questions that come late, and an
// operator's decisions, while all is well or one host is cut off.
//
//	go run ./proof/models/delivery               the protocol as designed, in several sizes, and with one rule broken each
//	go run ./proof/models/delivery -only NAME    one of them
//	go run ./proof/models/delivery -more 1       the designs with one more fault on a path than usual: 8 minutes, 8 GB
//
// What is looked for, each with the shortest path to it:
//
//	lost         accepted (202), and steps that are not faults no longer lead to a send on each channel (G9). Excused:
//	             Redis' data and every host that accepted, all lost; discarded by an operator; parked (at_most_once); gave way to
//	             another content after Redis had lost this one
//	repeat       a channel sent twice without an excuse (G10). An excuse is good for one send: a crash between send and
//	             outcome; an attempt's lease that ended while its holder was frozen, cut or down; a send without Redis by
//	             the host whose own write was confirmed. No count is kept once data was lost
//	once         an at_most_once channel sent twice. Once data was lost: by a host that had begun it; or, where Redis lost it all, by
//	             one that has it from the ticket, or that was away since its own agent said it. (What remains is then for one that was
//	             there all the time, while another sent it between two rounds, and for a ticket that fell back to before an attempt)
//	superseded   a send begun by a host that sees that the ticket is not NOTIFYING (discarded, say), though no data was lost
//	decided      a send begun of what an operator discarded or reopened more than seconds ago: by a host that is cut off, or
//	             after a loss of data by one that ran and was not cut off meanwhile
//	told again   a send begun of what Redis lost, though the ticket tells another content and that is sent or being sent
//	ghost        a copy of a question takes an attempt, on which nobody sends
//	contents     two contents sent, though no data was lost
//	forgotten    data lost while a channel is parked on the ticket, and no host that accepted it has the content any more
//	stuck        a ticket that steps which are not faults cannot bring out of NOTIFYING
//	empty 202    a 202 for what is still to be sent, from a host that has not committed it
//
// "Lead to" means: from every state that can be reached at all, some path of such steps does it. Agents' calls and claims
// and the landing of a late write are not faults, but nothing may rely on them. A restart, a heal, the end of a lease
// under which nobody works, and the sweep come in the end.
//
// Simpler than the design: a content is named after the host whose agent wrote it, and the same words again are the same
// content; a send always succeeds; who decides about what is parked says that it arrived; a cut host does not wait out an attempt's lease before it sends (so more can happen
// here); there is one set of hints, not one a host; what comes after a reopen, retries and expiry are
// left out; the copies of the other scripts are for engine/copies_test.go.
package main

import (
	"flag"
	"fmt"

	"github.com/picketd/picket/proof/models/explore"
)

var (
	normal = []bool{false}
	once   = []bool{true}
	each   = Faults{crash: 1, death: 1, lost: 1, expire: 1, flush: 1, rollback: 1, cut: 1, discard: 1, reopen: 1, copy: 1, claim: 1}
	twice  = Faults{crash: 2, death: 1, lost: 2, expire: 2, flush: 1, rollback: 1, cut: 2, discard: 1, reopen: 1, copy: 1, claim: 2}
)

var designs = []Run{
	{"design", "one channel", Rules{}, normal, twice, 2},
	{"design-once", "one at_most_once channel", Rules{}, once, each, 3},
	{"design-waits", "one channel, and a replica that is waited for", Rules{}, normal, Faults{
		crash: 1, death: 1, lost: 1, expire: 1, failover: 1, cut: 1, discard: 1, claim: 2,
	}, 2},
	{"design-two", "two channels, one of them at_most_once", Rules{}, []bool{false, true}, each, 2},
}

// The mutations, each with no more faults than it takes. (Without the sweep alone nothing is found as long as no data is
// lost; so what breaks the hints' order does so without it. One's own live lease is looked at twice: on the ticket, and as begun in the
// outbox.)
var mutations = []Run{
	{"empty-202", "202 for another's content from Redis only", Rules{emptyAnswer: true}, normal, Faults{lost: 1, rollback: 1, claim: 1}, 2},
	{"commit-first", "sendable when staged", Rules{commitFirst: true}, normal, Faults{claim: 1}, 0},
	{"never-settle", "staged entries left alone after a crash", Rules{neverSettle: true}, normal, Faults{crash: 1}, 1},
	{"hint-after", "hint after the write, no sweep", Rules{hintAfter: true, noSweep: true}, normal, Faults{death: 1}, 1},
	{"hint-anytime", "hint dropped at any time, no sweep", Rules{hintAnytime: true, noSweep: true}, normal, Faults{death: 1}, 1},
	{"redo-no-hint", "written again without a new hint, no sweep", Rules{redoNoHint: true, noSweep: true}, normal, Faults{death: 1}, 1},
	{"no-sweep", "no sweep, and data lost", Rules{noSweep: true}, normal, Faults{death: 1, rollback: 1}, 2},
	{"no-attempt", "sent without an attempt", Rules{noAttempt: true}, normal, Faults{claim: 1}, 0},
	{"ignore-lease", "attempt over another's live lease", Rules{ignoreLease: true}, normal, Faults{claim: 1}, 0},
	{"once-own-lease", "at_most_once: over one's own live lease, begun again", Rules{onceOwnLease: true, begunAgain: true}, once, Faults{crash: 1}, 1},
	{"once-again", "at_most_once: unknown outcome sent again", Rules{onceAgain: true}, once, Faults{crash: 1}, 1},
	{"once-cut", "at_most_once: sent while Redis is away", Rules{onceCut: true}, once, Faults{cut: 1}, 1},
	{"adopted-cut", "adopted entry sent while Redis is away", Rules{adoptedCut: true}, normal, Faults{cut: 1, claim: 1}, 1},
	{"revision-only", "lost data told by a lower revision alone", Rules{revisionOnly: true}, normal, Faults{rollback: 1, other: 1}, 1},
	{"revision-only-2", "the same, and another's write instead", Rules{revisionOnly: true}, normal, Faults{rollback: 1, claim: 1}, 1},
	{"high-risk-stale", "back in HIGH_RISK taken for superseded", Rules{highRiskStale: true}, normal, Faults{rollback: 1}, 1},
	{"fact-moves", "receipt of lost content settles the new one", Rules{factMoves: true}, normal, Faults{rollback: 1, claim: 1}, 1},
	{"stale-cut", "sent without Redis, long after the ticket's word", Rules{staleCut: true}, normal, Faults{cut: 1, discard: 1}, 2},
	{"no-facts", "decisions come into no outbox, and data lost", Rules{noFacts: true}, normal, Faults{discard: 1, flush: 1}, 2},
	{"lost-blind", "another content, or run, taken for lost data", Rules{lostBlind: true}, normal, Faults{flush: 1, claim: 1}, 1},
	{"begun-again", "at_most_once: what was begun is begun again", Rules{begunAgain: true}, once, Faults{crash: 1, rollback: 1}, 2},
	{"lost-copy", "at_most_once: lost data, sent from a copy", Rules{lostCopy: true}, once, Faults{crash: 1, flush: 1}, 2},
	{"lost-broken", "at_most_once: lost data, sent after a break", Rules{lostBroken: true}, once, Faults{crash: 1, flush: 1}, 2},
	{"blind-copy", "an attempt without how many there were", Rules{blindCopy: true}, normal, Faults{crash: 1, copy: 1}, 2},
	{"no-wait", "202 before the replica has NOTIFYING", Rules{noWait: true}, normal, Faults{death: 1, failover: 1}, 2},
	{"close-parked", "what is parked leaves the outbox, and data lost", Rules{closeParked: true}, once, Faults{crash: 1, flush: 1}, 2},
	{"send-discarded", "sent after the discard was seen", Rules{sendDiscarded: true}, normal, Faults{discard: 1}, 1},
}

// models are the designs with so many faults on a path, or as many as each is given here, and the mutations.
func models(most, more uint8) (all []explore.Model) {
	for _, r := range designs {
		if r.most += more; most > 0 {
			r.most = most
		}
		what := fmt.Sprintf("%s; %d faults on a path", r.what, r.most)
		all = append(all, explore.Design(r.name, what, r.explore))
	}
	for _, r := range mutations {
		all = append(all, explore.Mutation(r.name, r.what, r.explore))
	}
	return all
}

func main() {
	more := flag.Uint("more", 0, "so many more faults on a path, in the designs")
	explore.Main(func() []explore.Model { return models(0, uint8(*more)) })
}
