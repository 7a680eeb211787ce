// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// scanners looks whether a scanner of picket run gives no sign of life once another claim on its asset was granted. The calls of picket
// run are not recorded: its claims are known by the audit, and by the tokens that its scanners tell. (G8)
func (c *checker) scanners() {
	granted := c.grantedOn()
	told := map[int]bool{} // of whom it was told
	for _, p := range c.processes {
		own := granted[p.Asset][p.Token]
		if p.Kind != "scanner" || told[p.PID] || own == nil {
			continue
		}
		for token, next := range granted[p.Asset] {
			if token <= p.Token || next.came >= p.at {
				continue
			}
			told[p.PID] = true
			switch {
			case c.faults.lost(own.came, p.at):
				c.excuse("G8: Redis lost data")
			case c.faults.stepped(own.came, p.at):
				c.excuse("G8: the clock of a Redis was set")
			case c.forced(window{own, &call{sent: own.came}, own.came, never}, p.at):
				c.excuse("G8: an administrator took it from its holder")
			case slices.ContainsFunc(c.faults, func(f *fault) bool { return f.target == "run "+p.Host && f.within(own.came, p.at) }):
				c.excuse("G8: picket run itself was killed or frozen")
			default:
				c.violate("G8", own.ticket(), []int{own.n, next.n, p.n}, "a scanner under token %d on %s is at work after token %d was granted on %s",
					p.Token, p.Host, token, next.host)
			}
			break
		}
	}
}

// grantedOn are the claims of each asset by their tokens, as answers, the audit and scanners tell of them, and when they were granted at
// the latest.
func (s *story) grantedOn() map[string]map[int64]*grant {
	all, made := map[string]map[int64]*grant{}, s.made()
	note := func(g *grant) {
		if all[g.asset] == nil {
			all[g.asset] = map[int64]*grant{}
		}
		if was := all[g.asset][g.token]; was == nil || g.came < was.came {
			all[g.asset][g.token] = g
		}
	}
	for _, g := range s.grants {
		note(g)
	}
	for _, a := range s.audits {
		if f := a.Fields; f["PICKET_EVENT"] == "claimed" {
			note(&grant{host: a.Host, asset: f["PICKET_ASSET"], task: strings.TrimPrefix(f["PICKET_TICKET"], f["PICKET_ASSET"]+"/"), token: a.token(), n: a.n, came: made(a)})
		}
	}
	for _, p := range s.processes {
		if p.Kind == "scanner" {
			note(&grant{host: p.Host, asset: p.Asset, task: p.Task, token: p.Token, n: p.n, came: p.at})
		}
	}
	return all
}
