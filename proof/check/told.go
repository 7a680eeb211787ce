// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// toldOfLoss looks whether holders are told of a loss: with a reason, for good, and in time for a command to be gone. (G8)
func (c *checker) toldOfLoss() {
	for _, g := range c.grants {
		c.endures(g)
	}
	for _, one := range c.calls {
		if k := one.out.Claim; one.ok() && k != nil {
			if (k.Status == "held") != (k.Reason == nil) || k.Reason != nil && (causes[*k.Reason] == nil || k.TrustedMS != 0) {
				c.violate("G8", one.ticket(), one.records(), "a claim is %s with reason %v and trusted for %d ms: %s", k.Status, k.Reason, k.TrustedMS, one)
			}
		}
		if one.code == "CLAIM_LOST" && causes[one.out.Reason] == nil {
			c.violate("G8", one.ticket(), one.records(), "a claim is lost for the reason %q: %s", one.out.Reason, one)
		}
	}
	c.reasons()
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
				case c.faults.leap(one.sent-c.setup.TTLMS*int64(time.Millisecond), one.came) > 0:
					c.excuse("G8: the clock of a Redis was set forward")
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
	told, excused := map[int]bool{}, map[string]bool{} // of whom it was told
	for _, p := range c.processes {
		own := c.grantOf(canonical(p.Asset), p.Token)
		if p.Kind != "command" || told[p.PID] || own == nil {
			continue
		}
		i := slices.IndexFunc(c.byAsset[own.asset], func(g *grant) bool { return g.token > own.token && g.came < p.at })
		if i < 0 {
			continue
		}
		g := c.byAsset[own.asset][i]
		if c.letGo(own) < g.came {
			continue
		}
		if why := c.mayGoOn(own, p.at); why == "" {
			told[p.PID] = true
			c.violate("G8", own.ticket(), []int{own.n, g.n, p.n}, "a command under token %d on %s is at work after token %d was granted on %s",
				p.Token, p.Host, g.token, g.host)
		} else if key := fmt.Sprint(p.PID, why); !excused[key] {
			excused[key] = true
			c.excuse(why)
		}
	}
}

// mayGoOn is why the command of a claim may be at work at a time though another has the asset; empty: it may not.
func (c *checker) mayGoOn(own *grant, at int64) string {
	ttl := c.setup.TTLMS * int64(time.Millisecond)
	hears := margin(ttl) + int64(prompt) // within what time its holder hears that an administrator took it, and the command is gone
	if c.faults.struck(own.host, at-2*ttl, at) {
		hears = ttl + int64(stall)
	}
	switch {
	case c.faults.lost(own.sent, at):
		return "G8: Redis lost data"
	case c.faults.leap(at-2*ttl, at) > 0:
		return "G8: the clock of a Redis was set forward"
	case c.forced(window{own, &call{sent: at + ttl - hears}, own.came, never}, at):
		return "G8: an administrator took it from its holder"
	case c.unsupervised(own, at):
		return "G8: picket exec itself was killed or frozen"
	}
	return ""
}

// margin is for how long a lock outlives the trust in it. (engine/doc.go)
func margin(ttl int64) int64 { return max(ttl/5, int64(200*time.Millisecond)) }

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

// unsupervised: was the picket exec that holds a claim killed, or frozen until shortly before? What it has started goes on meanwhile.
// (README, "What it does not promise")
func (s *story) unsupervised(g *grant, at int64) bool {
	return slices.ContainsFunc(s.faults, func(f *fault) bool {
		after := at - margin(s.setup.TTLMS*int64(time.Millisecond))
		return strings.HasPrefix(f.target, "exec "+g.host) && f.within(g.sent, at) && (f.name == "exec is killed" || after <= felt(f.end))
	})
}
