// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"
)

// freed looks whether the lock of a process that ended was freed, instead of running out: the next claim would find that and say so in the
// audit. When something may have kept the daemon from renewing it before, or from freeing it then, it may run out. (G7; engine/doc.go,
// "process_exit")
func (c *checker) freed() {
	ttl := c.setup.TTLMS * int64(time.Millisecond)
	type claim struct{ asset, token string }
	ended := map[claim]auditRecord{}
	for _, a := range c.audits {
		of := claim{a.Fields["PICKET_ASSET"], a.Fields["PICKET_TOKEN"]}
		reason := a.Fields["PICKET_REASON"]
		switch was, told := ended[of]; {
		case a.Fields["PICKET_EVENT"] != "lost":
		case reason == "process_exit":
			ended[of] = a
		case told && strings.HasPrefix(reason, "expired: found") && a.at-was.at > int64(prompt):
			from, to := was.at-ttl, was.at+int64(prompt)
			if !c.faults.struck(was.Host, from, to) && !c.starved(was.Host, from, to+ttl) && // a claim is lost a TTL after that begins
				!c.faults.lost(was.at-int64(prompt), a.at) { // an older dump has the lock
				c.violate("G7", of.asset, []int{was.n, a.n},
					"the process of token %s on %s had ended for %s, and its lock was not freed: the next claim found that it had run out",
					of.token, was.Host, time.Duration(a.at-was.at).Round(time.Millisecond))
			}
		}
	}
}

// starved: did a host's daemon lose a claim in this time because no renewal was answered in time? Where there is no fault, the daemon or
// Redis got no turn.
func (s *story) starved(host string, from, to int64) bool {
	return slices.ContainsFunc(s.audits, func(a auditRecord) bool {
		f := a.Fields
		return a.Host == host && f["PICKET_EVENT"] == "lost" && f["PICKET_REASON"] == "expired" && from <= a.at && a.at <= to
	})
}
