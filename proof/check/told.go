// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// reasons are why a claim can end.
var reasons = []string{"released", "process_exit", "expired", "taken", "silent", "max_hold", "store_reset", "forced"}

// toldOfLoss looks whether holders are told of a loss: with a reason, for good, and in time for a command to be gone. (G8)
func (c *checker) toldOfLoss() {
	for _, g := range c.grants {
		c.endures(g)
	}
	for _, one := range c.calls {
		if k := one.out.Claim; one.ok() && k != nil {
			if (k.Status == "held") != (k.Reason == nil) || k.Reason != nil && (!slices.Contains(reasons, *k.Reason) || k.TrustedMS != 0) {
				c.violate("G8", one.ticket(), one.records(), "a claim is %s with reason %v and trusted for %d ms: %s", k.Status, k.Reason, k.TrustedMS, one)
			}
		}
		if one.code == "CLAIM_LOST" && !slices.Contains(reasons, one.out.Reason) {
			c.violate("G8", one.ticket(), one.records(), "a claim is lost for the reason %q: %s", one.out.Reason, one)
		}
	}
	c.commandsEnd()
	c.heldNoMore()
}

// heldNoMore: once another claim on its asset was granted, no answer says of a claim that it is held, unless its holder had asked for its
// end, whose answer may be under way.
func (c *checker) heldNoMore() {
	for _, g := range c.grants {
		for _, one := range g.calls {
			if k := one.out.Claim; !one.ok() || k == nil || k.Status != "held" {
				continue
			}
			for _, other := range c.byAsset[g.asset] {
				switch {
				case other.token <= g.token || other.came >= one.sent || other.came < g.sent || c.letGo(g) < other.came:
				case c.faults.lost(g.sent, one.came):
					c.excuse("G8: Redis lost data")
				case c.faults.stepped(g.sent, one.came):
					c.excuse("G8: the clock of a Redis was set")
				case c.forced(window{g, one, one.came, never}, one.sent):
					c.excuse("G8: an administrator took it from its holder")
				default:
					c.violate("G8", g.ticket(), append(one.records(), other.n), "a claim is told as held when token %d had been granted on %s: %s",
						other.token, other.host, one)
				}
			}
		}
	}
}

// endures: a claim that was told as lost is never held again, and nothing is written under it.
func (c *checker) endures(g *grant) {
	var lost *call
	for _, one := range g.calls {
		isLost := one.told() == "lost" || one.code == "STALE_TOKEN" || one.code == "CLAIM_LOST" && one.out.Reason != "released"
		if isLost && (lost == nil || one.came < lost.came) {
			lost = one
		}
	}
	if lost == nil {
		return
	}
	for _, one := range g.calls {
		if one.ends() && slices.ContainsFunc(g.calls, func(first *call) bool {
			return first.ends() && first.sent < lost.came && (first.unknown() || first.ok() && first.came > lost.came)
		}) {
			continue // that one may have landed, and is answered so (engine/doc.go, "reply of a finish or release lost")
		}
		held := one.out.Claim != nil && one.out.Claim.Status == "held"
		wrote := slices.Contains([]string{toStep, toFail, toNotify, toFinish, toRelease}, one.kind) && !one.force
		if one.sent > lost.came && one.ok() && (held || wrote) {
			c.violate("G8", g.ticket(), append(lost.records(), one.records()...), "a claim that was told as lost lives again: %s", one)
			return
		}
	}
}

// commandsEnd: a command under picket exec gives no sign of life once another claim on its asset was granted.
func (c *checker) commandsEnd() {
	told := map[int]bool{} // of whom it was told
	for _, p := range c.processes {
		if p.Kind != "command" || told[p.PID] {
			continue
		}
		for _, g := range c.byAsset[canonical(p.Asset)] {
			if g.token <= p.Token || g.came >= p.at {
				continue
			}
			own := c.grantOf(canonical(p.Asset), p.Token)
			told[p.PID] = true
			switch {
			case own == nil || c.letGo(own) < g.came:
			case c.faults.lost(own.sent, p.at):
				c.excuse("G8: Redis lost data")
			case c.faults.stepped(own.sent, p.at):
				c.excuse("G8: the clock of a Redis was set")
			case c.forced(window{own, &call{sent: own.sent}, own.came, never}, p.at):
				c.excuse("G8: an administrator took it from its holder")
			case c.unsupervised(own, p.at):
				c.excuse("G8: picket exec itself was killed or frozen")
			default:
				c.violate("G8", own.ticket(), []int{own.n, g.n, p.n}, "a command under token %d on %s is at work after token %d was granted on %s",
					p.Token, p.Host, g.token, g.host)
			}
			break
		}
	}
}

// letGo is when a command ended its claim itself, or ended, so that picket exec did.
func (s *story) letGo(g *grant) int64 {
	at := int64(never)
	for _, c := range g.calls {
		if c.ends() && (c.ok() || c.unknown()) {
			at = min(at, c.sent)
		}
	}
	for _, p := range s.processes {
		if p.PID == g.command && p.Kind == "command" && p.End {
			at = min(at, p.at)
		}
	}
	return at
}

func (s *story) grantOf(asset string, token int64) *grant {
	for _, g := range s.byAsset[asset] {
		if g.token == token {
			return g
		}
	}
	return nil
}

// unsupervised: was the picket exec that holds a claim killed or frozen? What it has started goes on then. (README, "What it does not
// promise")
func (s *story) unsupervised(g *grant, until int64) bool {
	return slices.ContainsFunc(s.faults, func(f *fault) bool {
		return strings.HasPrefix(f.target, "exec "+g.host) && f.within(g.sent, until)
	})
}
