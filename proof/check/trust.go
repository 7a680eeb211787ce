// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"cmp"
	"slices"
	"time"
)

// window is a time in which a claim was trusted: from the arrival of an answer that says so, until as long after the call's sending.
type window struct {
	*grant
	call     *call
	from, to int64
}

// windows are those of all claims of an asset, in the order in which they begin.
func (s *story) windows() map[string][]window {
	all := map[string][]window{}
	for _, g := range s.grants {
		for _, c := range g.calls {
			told := c.out.Claim
			if !c.ok() || told == nil || told.Status != "held" {
				continue
			}
			to := min(c.sent+told.TrustedMS*int64(time.Millisecond), s.let(g))
			if c.came < to {
				all[g.asset] = append(all[g.asset], window{g, c, c.came, to})
			}
		}
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// let is when a holder relied on the claim no more: he asked for its end, was told of it, or died.
func (s *story) let(g *grant) int64 {
	at := int64(never)
	for _, c := range g.calls {
		switch {
		case c.ends() && (c.ok() || c.unknown()):
			at = min(at, c.sent)
		case c.told() != "":
			at = min(at, c.came)
		}
	}
	return min(at, s.died(g, g.holder), s.died(g, g.pid))
}

// told is by which word the call's answer says that its claim has ended: lost, released, or a code; else empty.
func (c *call) told() string {
	switch {
	case c.code == "CLAIM_LOST" || c.code == "STALE_TOKEN":
		return c.code
	case c.ok() && c.out.Claim != nil && c.out.Claim.Status != "held":
		return c.out.Claim.Status
	}
	return ""
}

// died is when the holder of a claim did his last under it before a process ended that had been alive; never, if it did not end. The end
// is written down later than it comes.
func (s *story) died(g *grant, pid int) int64 {
	for _, p := range s.processes {
		if pid == 0 || p.PID != pid || !p.End || p.at < g.sent {
			continue
		}
		if pid != g.holder { // whose calls say nothing of it
			return min(p.at, max(g.came, p.Due))
		}
		last, seen := g.came, s.faults.thawed(p.by, p.at)
		for _, c := range s.calls {
			if c.pid == pid && c.sent <= seen {
				last = max(last, c.sent)
			}
		}
		return last
	}
	return never
}

// trust looks whether two claims of an asset were trusted at once. (G1)
func (c *checker) trust() {
	ttl := c.setup.TTLMS * int64(time.Millisecond)
	for asset, all := range c.windows() {
		for i, a := range all {
			for _, b := range all[i+1:] {
				if b.from >= a.to {
					break
				}
				held := a // the one from which it was taken, whose holder may have been told since that it is held
				if b.token < a.token {
					held = b
				}
				switch from := a.call.sent - ttl; {
				case b.id == a.id:
				case c.faults.lost(from, b.from):
					c.excuse("G1: Redis lost data")
				case c.faults.leap(from, b.from) > 0:
					c.excuse("G1: the clock of a Redis was set forward")
				case c.forced(held, b.from):
					c.excuse("G1: an administrator took it from its holder")
				default:
					c.violate("G1", asset, append(a.call.records(), b.call.records()...),
						"the claim with token %d, of %s on %s, was trusted for %s more when that with token %d was trusted, of %s on %s",
						a.token, a.task, a.host, time.Duration(a.to-b.from).Round(time.Millisecond), b.token, b.task, b.host)
				}
			}
		}
	}
}

// forced: did an administrator end this window's claim, or its ticket's run, before a time? He asks for it that early, and its holder may
// hear of it only by the next renewal. (engine/doc.go, "forced" and "publish lost")
func (s *story) forced(w window, before int64) bool {
	ttl := s.setup.TTLMS * int64(time.Millisecond)
	return slices.ContainsFunc(s.calls, func(c *call) bool {
		forced := c.force && (c.claimID == w.id || w.id == "" && c.asset == w.asset) // that of picket exec may not be known
		ends := forced || c.kind == toBreak && c.asset == w.asset || c.kind == toReopen && c.ticket() == w.ticket()
		return ends && (c.ok() || c.unknown()) && c.sent <= before && c.came >= w.sent && w.call.sent-ttl <= c.came
	})
}
