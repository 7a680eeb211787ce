// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"time"
)

// stopTime is after what time a stop may be cut off, as by a crash: it takes 2 s at most. (README)
const stopTime = int64(1900 * time.Millisecond)

// stopped looks whether each daemon that ended in order said so last: it has brought all of its records to the journal before. (G12;
// docs/audit.md)
func (c *checker) stopped() {
	begun := map[int]process{} // the daemons that run, by their processes
	for _, p := range c.processes {
		switch {
		case p.Kind != "daemon":
		case !p.End:
			begun[p.PID] = p
		case p.Detail == "exit status 0" && !slices.ContainsFunc(c.audits, func(a auditRecord) bool {
			return a.Host == p.Host && a.Fields["PICKET_EVENT"] == "stopped" && a.at >= begun[p.PID].at && a.at <= p.at+queued
		}):
			if p.Due > 0 && p.at-p.Due >= stopTime {
				c.excuse("G12: the daemon had no time left when it stopped")
				continue
			}
			c.violate("G12", "", []int{begun[p.PID].n, p.n}, "the daemon of %s stopped in order, and the audit does not say so", p.Host)
		}
	}
}
