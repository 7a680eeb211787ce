// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// losses looks whether each loss that a claim's holder was told of is in the audit of his host, unless an end was under way, of which
// something else tells. (G12; docs/audit.md)
func (c *checker) losses() {
	for _, g := range c.grants {
		i := slices.IndexFunc(g.calls, func(one *call) bool {
			return one.told() == "lost" || one.code == "CLAIM_LOST" && one.out.Reason != "released"
		})
		if i < 0 || c.isLost(g) {
			continue
		}
		switch told := g.calls[i]; {
		case c.letGo(g) < told.came:
		case c.inQueue(g.host, g.came, told.came):
			c.excuse(wasInQueue)
		default:
			c.violate("G12", g.ticket(), append([]int{g.n}, told.records()...), "the loss of token %d on %s is not in the audit: %s", g.token, g.host, told)
		}
	}
}

// isLost: does the audit of a claim's host say that it was lost? That the next claim found it so tells nothing of its holder.
func (s *story) isLost(g *grant) bool {
	return slices.ContainsFunc(s.audits, func(a auditRecord) bool {
		f := a.Fields
		return a.Host == g.host && f["PICKET_EVENT"] == "lost" && f["PICKET_TICKET"] == g.ticket() && a.token() == g.token &&
			!strings.HasPrefix(f["PICKET_REASON"], "expired: found")
	})
}
