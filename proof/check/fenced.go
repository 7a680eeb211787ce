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
			if e.fenced() && c.overtaken(read, e, grants[read.asset]) {
				break
			}
		}
	}
}

// granted is a grant that a ticket's history tells of.
type granted struct {
	read  *call
	token int64
	at    time.Time // by the clock of Redis
}

// overtaken tells of a write that comes after a newer grant.
func (c *checker) overtaken(read *call, e event, grants []granted) bool {
	why := ""
	for _, newer := range grants {
		if newer.token <= e.Token || !newer.at.Before(e.At) {
			continue
		}
		switch from, to := c.between(read.asset, e.Token, newer.token); {
		case c.faults.lost(min(read.sent, newer.read.sent), max(read.came, newer.read.came)):
			why = "G2: Redis lost data between the readings of two histories"
		case c.faults.stepped(from, to):
			why = "G2: the clock of a Redis was set, so that its times tell no order"
		default:
			c.violate("G2", read.ticket(), append(read.records(), newer.read.records()...), "event %d, %s %s under token %d, came %s after token %d was granted on %s",
				e.Seq, e.Event, e.Step, e.Token, e.At.Sub(newer.at), newer.token, newer.read.ticket())
			return true
		}
	}
	if why != "" {
		c.excuse(why)
	}
	return false
}

// fenced: is it a write that only the newest claim may make?
func (e event) fenced() bool {
	return e.Event == "step" || e.Event == "failure" || e.Event == "failed" && e.Step != "" ||
		e.Event == "notifying" && !strings.HasPrefix(e.Reason, "retry")
}

// between is from when one token was asked for until another was told of. Of what nobody was told, it may be any time.
func (s *story) between(asset string, token, newer int64) (from, to int64) {
	to = s.end
	if g := s.grantOf(asset, token); g != nil {
		from = g.sent
	}
	if g := s.grantOf(asset, newer); g != nil {
		to = g.came
	}
	return from, to
}
