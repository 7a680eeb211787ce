// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"time"
)

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
				case c.faults.lost(one.sent, other.came) && c.behind(one, other) && !c.minted(one, other):
					c.excuse("G3: Redis lost data, its clock was behind, and another daemon minted")
				default:
					c.violate("G3", asset, records, "token %d was granted on %s after token %d on %s", other.token, other.host, one.token, one.host)
				}
			}
		}
	}
}

// behind: may Redis' clock have been behind a token when the next was granted? It is wrong then, or it was when that token was made, which
// is ahead of the time.
func (s *story) behind(one, other *grant) bool {
	ahead, known := s.ahead()
	return s.faults.stepped(other.sent, other.came) || known && one.token*int64(time.Millisecond) > other.sent+ahead
}

// minted: had the daemon that granted a token, in the run that granted another, the first one too?
func (s *story) minted(one, other *grant) bool {
	return one.host == other.host && !slices.ContainsFunc(s.processes, func(p process) bool {
		return p.Kind == "daemon" && !p.End && p.Host == one.host && one.sent <= p.at && p.at <= other.came
	})
}
