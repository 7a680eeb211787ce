// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"
)

// causes are why a claim can end, each with whether that can be so: what must have happened before a time. (engine/doc.go, "What each loss
// means")
var causes = map[string]func(s *story, g *grant, at int64) bool{
	"released":     (*story).released,
	"process_exit": (*story).exited,
	"expired":      (*story).ranOut,
	"taken":        (*story).taken,
	"silent":       (*story).silent,
	"max_hold": func(_ *story, g *grant, at int64) bool {
		return g.claimed == nil || at >= g.sent+g.hold*int64(time.Millisecond)
	},
	"store_reset": func(s *story, g *grant, at int64) bool { return s.faults.lost(g.sent, at) },
	"forced":      (*story).ordered,
}

// reasons looks whether a claim that is told as lost, or recorded so, was lost for a reason that is there. (G8)
func (c *checker) reasons() {
	for _, g := range c.grants {
		for _, one := range g.calls {
			reason := one.out.Reason
			if k := one.out.Claim; k != nil && k.Reason != nil {
				reason = *k.Reason
			}
			if so := causes[reason]; so != nil && one.told() != "" && !so(c.story, g, one.came) {
				c.violate("G8", g.ticket(), append([]int{g.n}, one.records()...), "token %d on %s is told as ended by %s, which is not so: %s",
					g.token, g.host, reason, one)
			}
		}
	}
	made := c.made()
	for _, a := range c.audits {
		reason, _, _ := strings.Cut(a.Fields["PICKET_REASON"], ":")
		g := c.grantOf(a.Fields["PICKET_ASSET"], a.token())
		if so := causes[reason]; so != nil && g != nil && a.Fields["PICKET_EVENT"] == "lost" && !so(c.story, g, made(a)) {
			c.violate("G8", g.ticket(), []int{g.n, a.n}, "token %d on %s is recorded as lost by %s, which is not so", g.token, g.host, reason)
		}
	}
}

// released: has somebody asked for its end? What picket exec asks is not recorded.
func (s *story) released(g *grant, at int64) bool {
	return g.claimed == nil || slices.ContainsFunc(g.calls, func(c *call) bool { return c.ends() && c.sent <= at })
}

// exited: does the process that is watched do nothing any more?
func (s *story) exited(g *grant, at int64) bool {
	return g.pid != 0 && !slices.ContainsFunc(s.calls, func(c *call) bool { return c.pid == g.pid && c.host == g.host && c.sent > at })
}

// ranOut: had the trust ended of which the holder was told? The lock lasts for longer, also when its daemon is started again.
func (s *story) ranOut(g *grant, at int64) bool {
	return s.taken(g, at) || s.ordered(g, at) || s.faults.leap(g.sent, at) > 0 || !slices.ContainsFunc(g.calls, func(c *call) bool {
		told := c.out.Claim
		return c.ok() && told != nil && told.Status == "held" && c.came <= at && c.sent+told.TrustedMS*int64(time.Millisecond) > at
	})
}

// taken: may another have the asset? An administrator who ends a claim makes a grant that nobody has, and which says so: that is forced, unless
// it could not be read.
func (s *story) taken(g *grant, at int64) bool {
	made, recorded := s.made(), map[int64]int64{} // when a newer token was granted
	for _, a := range s.audits {
		if s.maybeHas(a, g, at) {
			return true
		}
		if a.Fields["PICKET_EVENT"] == "claimed" && a.Fields["PICKET_ASSET"] == g.asset && a.token() > g.token {
			recorded[a.token()] = made(a)
			if made(a) <= at+int64(prompt) {
				return true
			}
		}
	}
	granted := func(o *grant) bool { return o.token > g.token && o.sent <= at && recorded[o.token] == 0 }
	claims := func(c *call) bool {
		return c.kind == toClaim && c.asset == g.asset && c.code != "LOCK_HELD" && c.out.Claim == nil && c.sent <= at && c.came >= g.sent
	}
	return slices.ContainsFunc(s.byAsset[g.asset], granted) || slices.ContainsFunc(s.calls, claims) ||
		s.faults.lost(g.sent, at) || s.ordered(g, at) && s.faults.struck(g.host, at-repeated, at)
}

// maybeHas: does a record tell of a claim that was under way, and may have had the lock? Of the calls of picket exec and picket run only the
// audit tells, at their end.
func (s *story) maybeHas(a auditRecord, g *grant, at int64) bool {
	const underway = int64(5*time.Second) + int64(prompt)
	return a.Fields["PICKET_CALL"] == "claim" && a.Fields["PICKET_ASSET"] == g.asset && a.Fields["PICKET_EVENT"] != "claimed" &&
		a.Fields["PICKET_CODE"] != "LOCK_HELD" && a.at >= g.sent && a.at <= at+underway
}

// silent: has no call on it been answered for as long as its heartbeat? That of picket exec is not recorded.
func (s *story) silent(g *grant, at int64) bool {
	beat := g.heartbeat * int64(time.Millisecond)
	return g.claimed == nil || beat > 0 && at >= g.sent+beat && !slices.ContainsFunc(g.calls, func(c *call) bool {
		return c.kind != toWatch && c.kind != toClaim && c.ok() && c.came <= at && c.sent+beat > at
	})
}

// ordered: may an administrator have ended it? A loss of data can bring back that he ended one before it.
func (s *story) ordered(g *grant, at int64) bool {
	return s.forced(window{g, &call{}, 0, 0}, at) || s.faults.lost(g.sent, at)
}
