// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"math"
	"strings"
	"time"
)

const (
	// lives is how long a sign of life is good for. (outbox/doc.go)
	lives = int64(25 * time.Second)
	// signs is within what time a daemon gives one if nothing befalls it or Redis: every 5 s, and an answer may take as long.
	signs = int64(10*time.Second + stall)
	// repeated is for how long a script may be sent again before it is told of.
	repeated = int64(5 * time.Second)
)

// heirs looks whether each daemon from which another took over had given no sign of life for as long as one is good for. (G10)
func (c *checker) heirs() {
	hosts := map[string]string{} // by their daemons' identities
	for _, one := range c.calls {
		for _, h := range one.out.Hosts {
			hosts[h.ID] = h.Host
		}
	}
	made := c.made()
	for _, a := range c.audits {
		daemon, taken := strings.CutPrefix(a.Fields["PICKET_REASON"], "from daemon ")
		gone, at := hosts[daemon], made(a)
		if a.Fields["PICKET_EVENT"] != "inherited" || !taken || gone == "" || c.faults.lost(0, at) || c.faults.stepped(0, at) {
			continue
		}
		if !c.faults.struck(a.Host, at-repeated, at) && c.faults.signs(gone, at-lives, at) {
			c.violate("G10", a.Fields["PICKET_TICKET"], []int{a.n}, "%s took over from %s, which lives", a.Host, gone)
		}
	}
}

// signs: was a host left alone for long enough in a time that its daemon gave a sign of life?
func (all faults) signs(host string, from, to int64) bool {
	for from+signs <= to {
		over := all.over(host, from, from+signs)
		if over == from {
			return true
		}
		if over == never {
			return false
		}
		from = over + 1
	}
	return false
}

// made tells when a record of the audit was made. It may have come to the journal much later, with a daemon that was frozen.
func (s *story) made() func(auditRecord) int64 {
	ahead, known := s.ahead()
	return func(a auditRecord) int64 {
		if wall, tells := a.wall(); known && tells {
			return wall - ahead
		}
		return a.at
	}
}

// ahead is how far the wall clock is ahead of CLOCK_BOOTTIME, by the record of the audit that came soonest.
func (s *story) ahead() (ns int64, known bool) {
	ns = math.MinInt64
	for _, a := range s.audits {
		if wall, tells := a.wall(); tells {
			ns, known = max(ns, wall-a.at), true
		}
	}
	return ns, known
}

// wall is when a record was made, in ns of the wall clock.
func (a auditRecord) wall() (ns int64, tells bool) {
	t, err := time.Parse(time.RFC3339Nano, a.Fields["PICKET_TIME"])
	return t.UnixNano(), err == nil
}
