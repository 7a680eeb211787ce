// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// tokens looks whether tokens only grow: that of a grant which was asked for when another had been told of is greater. (G3)
func (c *checker) tokens() {
	for asset, grants := range c.byAsset {
		for i, g := range grants {
			for _, before := range grants[:i] {
				one, other := before, g
				if one.came > other.came {
					one, other = other, one
				}
				switch records := []int{one.n, other.n}; {
				case one.token == other.token:
					c.violate("G3", asset, records, "two claims have the token %d: on %s and on %s", one.token, one.host, other.host)
				case one.came >= other.sent || other.token > one.token:
				case c.faults.lost(one.sent, other.came) && slices.ContainsFunc(c.faults, func(f *fault) bool { return f.steps }):
					c.excuse("G3: Redis lost data, and its clock was set")
				default:
					c.violate("G3", asset, records, "token %d was granted on %s after token %d on %s", other.token, other.host, one.token, one.host)
				}
			}
		}
	}
}
