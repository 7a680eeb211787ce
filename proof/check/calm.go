// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"
)

// lives looks whether claims live as long as they may, and calls are answered, when nothing keeps Redis or a daemon from it: where there was no
// fault, and the daemon told others meanwhile what only Redis knows. So that a claim outlives its daemon too. (G7, G11; README)
func (c *checker) lives() {
	ttl, made := c.setup.TTLMS*int64(time.Millisecond), c.made()
	for _, a := range c.audits {
		if a.Fields["PICKET_EVENT"] != "lost" || a.Fields["PICKET_REASON"] != "expired" {
			continue
		}
		at := made(a)
		from, others := at, c.faults
		if f := c.faults.restart(a.Host, at-ttl/3, at); f != nil { // its locks last for longer than that
			from, others = f.begin, others.without(f)
		}
		if !others.disturbed(a.Host, from-2*ttl, at) && c.served(a.Host, from-ttl, from) {
			c.violate("G7", a.Fields["PICKET_ASSET"], []int{a.n}, "token %s on %s ran out, though nothing kept its daemon from renewing it, or from taking it up again",
				a.Fields["PICKET_TOKEN"], a.Host)
		}
	}
	for _, one := range c.calls {
		if one.code == "STORE_UNAVAILABLE" && !c.faults.disturbed(one.host, one.sent-2*ttl, one.came) && c.served(one.host, one.sent-ttl, one.came) {
			c.violate("G11", one.ticket(), one.records(), "Redis is told to be away, and was not: %s", one)
		}
	}
}

// disturbed: was there a fault in this time that may hold up a daemon, or keep it from Redis? Replies are lost by closing all connections of a
// node, whoever has them.
func (all faults) disturbed(host string, from, to int64) bool {
	return all.struck(host, from, to) || slices.ContainsFunc(all, func(f *fault) bool {
		return strings.HasPrefix(f.name, "replies are lost") && f.within(from, to)
	})
}

// restart is a fault that ended a host's daemon within a time.
func (all faults) restart(host string, from, to int64) *fault {
	for _, f := range all {
		if f.target == host && strings.HasPrefix(f.name, "daemon is") && from <= f.begin && f.begin <= to {
			return f
		}
	}
	return nil
}

// served: did a host's daemon tell all the time what only Redis knows, and at once? On a machine that has no turn for it, or for Redis, it
// does not.
func (s *story) served(host string, from, to int64) bool {
	const pause, soon = int64(time.Second), int64(100 * time.Millisecond) // between two answers; for each
	asks := []string{toStep, toFail, toNotify, toFinish, toRelease, toRead, toHistory, toStates}
	for _, c := range s.calls {
		if c.host == host && slices.Contains(asks, c.kind) && (c.ok() || c.code == "TICKET_NOT_FOUND" || slices.Contains(decided, c.code)) &&
			c.sent <= from+pause && c.came > from && c.came-c.sent <= soon {
			from = c.came
		}
	}
	return from+pause >= to
}
