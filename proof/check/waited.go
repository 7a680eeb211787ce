// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"maps"
	"slices"
)

// waited looks whether what replicas were waited for is still in the history of its ticket, where Redis lost what none of them had: each
// grant that somebody was told of, and each notification that was accepted. (G2, G9; docs/redis.md, wait_replicas)
func (c *checker) waited() {
	for _, ticket := range slices.Sorted(maps.Keys(c.histories)) {
		read := c.histories[ticket]
		if !c.faults.lost(0, read.came) || c.faults.forgot(0, read.came) {
			continue
		}
		has := func(kind string, token int64) bool {
			return slices.ContainsFunc(read.out.Events, func(e event) bool { return e.Event == kind && e.Token == token })
		}
		for _, g := range c.byAsset[read.asset] {
			if g.ticket() == ticket && g.came < read.sent && !has("claimed", g.token) {
				c.violate("G2", ticket, append(read.records(), g.n), "token %d was granted on %s, and a failover has lost it, though replicas had it",
					g.token, g.host)
			}
		}
		for _, one := range c.calls {
			if one.kind == toNotify && one.ticket() == ticket && one.ok() && !one.out.Replayed && one.came < read.sent && !has("notifying", one.token) {
				c.violate("G9", ticket, append(read.records(), one.records()...), "a failover has lost what was accepted, though replicas had it: %s", one)
			}
		}
	}
}
