// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"time"
)

// path is a way on which a host sends: each attempt on it leaves a record, and another of what became of it.
type path struct{ host, ticket, channel string }

// outcomes are the records of what became of an attempt.
var outcomes = []string{"receipt", "undelivered", "dead", "parked"}

// attempts looks whether each sending has a record of its attempt on its host, made before it, and one of what became of it. (G12;
// docs/audit.md)
func (c *checker) attempts() {
	made, begun, over := c.made(), map[path][]int64{}, map[path]int{} // begun: when; over: how often
	for _, a := range c.audits {
		f := a.Fields
		switch p := (path{a.Host, f["PICKET_TICKET"], f["PICKET_CHANNEL"]}); {
		case f["PICKET_EVENT"] == "attempt":
			begun[p] = append(begun[p], made(a))
		case slices.Contains(outcomes, f["PICKET_EVENT"]), f["PICKET_CALL"] == "outcome":
			over[p]++
		}
	}
	sent := map[path][]sending{}
	for k, some := range c.keys() {
		for _, s := range some {
			p := path{s.Host, k.ticket, s.Channel}
			sent[p] = append(sent[p], s)
		}
	}
	for p, some := range sent {
		slices.SortFunc(some, func(a, b sending) int { return int(min(max(a.Begin-b.Begin, -1), 1)) })
		c.attempted(p, some, begun[p])
		c.concluded(p, some, over[p])
	}
}

// attempted: is there a record of the attempt for each sending?
func (c *checker) attempted(p path, some []sending, attempts []int64) {
	slices.Sort(attempts)
	for _, s := range some {
		switch {
		case len(attempts) > 0 && attempts[0] <= s.Begin+recordedBy:
			attempts = attempts[1:]
		case c.faults.lost(0, s.Begin):
			c.excuse("G12: Redis lost the ticket, and nobody was asked before it was sent")
		case c.faults.unanswered(s.Host, s.Begin):
			c.excuse("G12: Redis was away, and nobody was asked before it was sent")
		case c.inQueue(s.Host, s.Begin-queued, s.at):
			c.excuse(wasInQueue)
		default:
			c.violate("G12", p.ticket, []int{s.n}, "sent by %s on %s without a record of the attempt in the audit", p.host, p.channel)
		}
	}
}

// recordedBy is by how much a record's time may be wrong here.
const recordedBy = int64(100 * time.Millisecond)

// concluded: is there a record of what became of each?
func (c *checker) concluded(p path, some []sending, outcomes int) {
	for _, s := range some {
		if outcomes >= len(some) {
			return
		}
		if c.faults.crashed(s.Host, s.Begin, c.knows(s)) {
			outcomes++
		}
	}
	if outcomes < len(some) {
		c.violate("G12", p.ticket, []int{some[len(some)-1].n}, "sent by %s on %s %d times, and there are %d records of what became of it in the audit",
			p.host, p.channel, len(some), outcomes)
	}
}

// knows is until when a daemon may have kept to itself what became of a sending, because it was held up or could not ask Redis.
func (c *checker) knows(s sending) int64 {
	return min(c.faults.over(s.Host, s.Begin, max(s.at, c.over(s))), never-int64(stall)) + int64(stall)
}
