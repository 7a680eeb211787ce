// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "time"

// stall is for how long a process of the harness, or a daemon, may get no turn on a machine that runs several histories at once.
const stall = 3 * time.Second

// prompt is the same for a daemon that answers: it has turns.
const prompt = 1500 * time.Millisecond

// life looks whether claims outlive what they hang on: the process, the heartbeat, the cap. Who watches one is told that it is held; one
// that is refused because another has the asset tells who has it. (G7)
func (c *checker) life() {
	for _, one := range c.calls {
		h := one.out.Holder
		if one.kind != toClaim || one.code != "LOCK_HELD" || h == nil {
			continue
		}
		if g := c.held(one, h); g != nil {
			c.outlived(one, g, stall)
		}
	}
	for _, g := range c.grants {
		for _, one := range g.calls {
			if told := one.out.Claim; one.kind == toWatch && one.ok() && told != nil && told.Status == "held" {
				c.outlived(one, g, prompt)
			}
		}
	}
}

// held is the claim that a refusal names: the last one of that process on the asset of which it was told before.
func (s *story) held(refused *call, h *holder) (last *grant) {
	for _, g := range s.byAsset[refused.asset] {
		named := g.host == h.Host && g.task == h.Task && (g.pid == h.PID || g.pid == 0 && g.holder == h.PID)
		if named && g.sent < refused.came && (last == nil || g.token > last.token) {
			last = g
		}
	}
	return last
}

// outlived tells of a lock that should be gone. Without a fault the lock goes when the daemon sees why; with one, which may keep the
// daemon from seeing it or from telling Redis, when it runs out after the fault. (engine/doc.go, "What each loss means")
func (c *checker) outlived(shows *call, g *grant, slack time.Duration) {
	ttl := c.setup.TTLMS * int64(time.Millisecond)
	look := func(what string, end int64) {
		end = max(end, g.came) // a process may end while its claim waits
		if slack < stall && !c.served(g.host, end, shows.sent) {
			slack = stall
		}
		limit, lag := end+int64(slack), int64(0)
		if c.starved(g.host, end-ttl, shows.sent) {
			limit += ttl
		}
		if over := c.faults.over(g.host, end-3*ttl, shows.sent); over > end-3*ttl {
			if over == never {
				return
			}
			limit = max(limit, over+ttl+int64(slack)+g.heartbeat*int64(time.Millisecond))
			lag = c.faults.lag(end-3*ttl, shows.sent)
		}
		switch {
		case shows.sent <= limit:
		case shows.sent <= limit+lag:
			c.excuse("G7: the clock of a Redis was set back")
		default:
			c.violate("G7", g.asset, append([]int{g.n}, shows.records()...), "the lock of token %d on %s is still there %s after %s: %s",
				g.token, g.host, time.Duration(shows.sent-end).Round(time.Millisecond), what, shows)
		}
	}
	for _, p := range c.processes {
		if p.End && g.pid != 0 && p.PID == g.pid && p.at >= g.sent {
			look("its process ended", p.at)
		}
	}
	if g.claimed != nil && g.hold > 0 {
		look("its cap was reached", g.came+g.hold*int64(time.Millisecond)+margin(ttl))
	}
	if signed := c.signed(g, shows.sent); g.heartbeat > 0 && signed != never {
		look("its heartbeat ran out", signed+g.heartbeat*int64(time.Millisecond)+margin(ttl))
	}
}

// signed is when a claim's holder gave its last sign of life before a time: each POST is one, and one that may be under way then makes it
// never.
func (s *story) signed(g *grant, before int64) int64 {
	last := g.came
	for _, c := range g.calls {
		switch {
		case c.kind == toWatch || c.kind == toClaim || c.sent >= before:
		case c.status == 0 || c.came >= before:
			return never
		default:
			last = max(last, c.came)
		}
	}
	return last
}
