// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"time"
)

// inherits is within what time others send what a host had accepted that is gone for good, when nothing befalls them: its sign of life runs
// out after 25 s and is missed for 10 s, or theirs has been written for 30 s, then they look every 5 s (DESIGN, section 6); and a busy
// machine.
const inherits = 60 * time.Second

// left looks whether others send in time what a host had accepted that never came back. What a receiver refused, or people decided about,
// waits for a person. (G9)
func (c *checker) left() {
	came := c.keys()
	for _, gone := range c.faults {
		if gone.name != forGood {
			continue
		}
		calm := gone.begin
		for _, f := range c.faults.without(gone) {
			calm = max(calm, f.end)
		}
		for k, a := range c.accepted() {
			for _, channel := range a.told.Channels {
				some := slices.DeleteFunc(slices.Clone(came[k]), func(s sending) bool { return s.Channel != channel })
				i := slices.IndexFunc(some, arrived)
				if a.host != gone.target || i < 0 || c.bothLost(a) || c.once(channel) || slices.ContainsFunc(some, refused) {
					continue
				}
				if late := time.Duration(some[i].Begin - calm); late > inherits {
					c.violate("G9", k.ticket, append(a.records(), gone.n, some[i].n), "run %d on %s: %s is gone for good, and %s sent it %s later", k.run,
						channel, a.host, some[i].Host, late.Round(time.Millisecond))
				}
			}
		}
	}
}
