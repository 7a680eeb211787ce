// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// fenced looks whether a claim has written once another was granted on its asset, be it on another ticket: by the times that Redis gave to the
// events of the tickets' histories. (G2)
func (c *checker) fenced() {
	if c.faults.lost(0, c.end) || c.faults.stepped(0, c.end) {
		return // the histories are of different pasts, or their times tell no order
	}
	type granted struct {
		read  *call
		token int64
		at    time.Time
	}
	grants := map[string][]granted{} // by asset
	for _, read := range c.histories {
		for _, e := range read.out.Events {
			if e.Event == "claimed" {
				grants[read.asset] = append(grants[read.asset], granted{read, e.Token, e.At})
			}
		}
	}
	for _, ticket := range slices.Sorted(maps.Keys(c.histories)) {
		read := c.histories[ticket]
		for _, e := range read.out.Events {
			if !e.fenced() {
				continue
			}
			if n := slices.IndexFunc(grants[read.asset], func(g granted) bool { return g.token > e.Token && g.at.Before(e.At) }); n >= 0 {
				newer := grants[read.asset][n]
				c.violate("G2", ticket, append(read.records(), newer.read.records()...), "event %d, %s %s under token %d, came %s after token %d was granted on %s",
					e.Seq, e.Event, e.Step, e.Token, e.At.Sub(newer.at), newer.token, newer.read.ticket())
				break
			}
		}
	}
}

// fenced: is it a write that only the newest claim may make?
func (e event) fenced() bool {
	return e.Event == "step" || e.Event == "failure" || e.Event == "failed" && e.Step != "" ||
		e.Event == "notifying" && !strings.HasPrefix(e.Reason, "retry")
}
