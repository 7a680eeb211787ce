// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// tokens looks whether tokens only grow: that of a grant which was asked for when another had been told of is greater. (G3)
func (c *checker) tokens() {
	byAsset := map[string][]*grant{}
	for _, g := range c.grants {
		byAsset[g.asset] = append(byAsset[g.asset], g)
	}
	for asset, grants := range byAsset {
		for i, g := range grants {
			for _, before := range grants[:i] {
				records := append(before.claimed.records(), g.claimed.records()...)
				switch {
				case g.token == before.token:
					c.violate("G3", asset, records, "two claims have the token %d: on %s and on %s", g.token, before.host, g.host)
				case before.claimed.came >= g.sent || g.token > before.token:
				case c.faults.lost(before.sent, g.claimed.came) && slices.ContainsFunc(c.faults, func(f *fault) bool { return f.steps }):
					c.excuse("G3: Redis lost data, and its clock was set")
				default:
					c.violate("G3", asset, records, "token %d was granted on %s after token %d on %s", g.token, g.host, before.token, before.host)
				}
			}
		}
	}
}
