// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// numbers looks whether the numbers of each run of a daemon have no gap but those that it tells of. A run that is killed loses what is
// at its end. (G12)
func (c *checker) numbers() {
	runs, dropped := map[string][]auditRecord{}, map[string]string{}
	for _, a := range c.audits {
		run := a.Host + " " + a.Fields["PICKET_RUN"]
		runs[run] = append(runs[run], a)
		dropped[run] += " " + a.Fields["PICKET_DROPPED"]
	}
	for run, records := range runs {
		seq := func(a auditRecord) int64 {
			n, _ := strconv.ParseInt(a.Fields["PICKET_SEQ"], 10, 64)
			return n
		}
		slices.SortStableFunc(records, func(a, b auditRecord) int { return int(seq(a) - seq(b)) })
		last := int64(0)
		for _, a := range records {
			switch n := seq(a); {
			case n == last:
				c.violate("G12", "", []int{a.n}, "the audit of %s has number %d twice", run, n)
			case n > last+1 && !tells(dropped[run], last+1, n-1):
				c.violate("G12", "", []int{a.n}, "the audit of %s has nothing from number %d to %d", run, last+1, n-1)
			}
			last = seq(a)
		}
	}
}

// tells: does a list such as 17-42 45 have all of these numbers?
func tells(list string, from, to int64) bool {
	for part := range strings.FieldsSeq(list) {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, _ := strconv.ParseInt(low, 10, 64)
		b, _ := strconv.ParseInt(high, 10, 64)
		if a <= from && from <= b {
			from = b + 1
		}
	}
	return from > to
}

// trace is by what a write is found in the audit.
type trace struct {
	host, call, ticket, code string
	token                    int64
}

func (t trace) String() string {
	text := fmt.Sprintf("%s of token %d on %s by %s", t.call, t.token, t.ticket, t.host)
	if t.code != "" {
		text += ", refused with " + t.code
	}
	return text
}

// inAudit are the names of calls on a claim as the audit has them.
var inAudit = map[string]string{toClaim: "claim", toStep: "step", toFail: "fail", toNotify: "notify", toFinish: "finish", toRelease: "release"}

// audit joins the answers with the audit: each write, accepted or refused, left one record on its host. (G12)
func (c *checker) audit() {
	answered, open := map[trace][]*call{}, map[trace]int{}
	for _, one := range c.calls {
		t, ok := c.traceOf(one)
		if ok && one.kind == toStep && one.in.Finish { // what was recorded before is a replay, and the claim's end a second record
			end := t
			end.code = ""
			open[end]++
		}
		switch {
		case !ok:
		case one.unknown(), one.code == "TICKET_DAMAGED": // what was written may have been lost before it was read for the answer
			t.code = ""
			open[t]++
		default:
			answered[t] = append(answered[t], one)
		}
	}
	noted, told := map[trace][]int{}, map[string]bool{} // told: of which code a host says that it has counted more
	for _, a := range c.audits {
		f := a.Fields
		token, _ := strconv.ParseInt(f["PICKET_TOKEN"], 10, 64)
		t := trace{a.Host, f["PICKET_CALL"], f["PICKET_TICKET"], "", token}
		switch f["PICKET_EVENT"] {
		case "refused":
			t.code = f["PICKET_CODE"]
		case "refusals":
			told[a.Host+f["PICKET_CODE"]] = true
			continue
		case "unconfirmed", "lost", "forced": // the last is an administrator's
			continue
		}
		noted[t] = append(noted[t], a.n)
	}
	for _, t := range slices.SortedFunc(maps.Keys(answered), func(a, b trace) int { return strings.Compare(a.String(), b.String()) }) {
		calls, n := answered[t], len(noted[t])
		var records []int
		for _, one := range calls {
			records = append(records, one.records()...)
		}
		records = append(records, noted[t]...)
		switch {
		case n >= len(calls) && n <= len(calls)+open[trace{t.host, t.call, t.ticket, "", t.token}]+open[trace{t.host, t.call, t.ticket, "", 0}]:
		case n > len(calls):
			c.violate("G12", t.ticket, records, "%d answers, and %d records in the audit: %s", len(calls), n, t)
		case told[t.host+t.code]:
			c.excuse("G12: more of a user's refused calls than are recorded one by one")
		case c.countLost(t, calls):
			c.excuse("G12: the daemon was killed before it had told how many more refused calls there were")
		case c.inQueue(t.host, calls):
			c.excuse("G12: the daemon was killed with the record in its queue")
		default:
			c.violate("G12", t.ticket, records, "%d answers, and %d records in the audit: %s", len(calls), n, t)
		}
	}
}

// traceOf is by what a call on a claim is found in the audit; not, if it leaves no record.
func (s *story) traceOf(one *call) (trace, bool) {
	g := s.byClaim[one.claimID]
	name := inAudit[one.kind]
	if one.kind == toClaim && one.ok() && one.out.Claim != nil {
		g = s.byClaim[one.out.Claim.ID]
	}
	if one.kind == toClaim && one.unknown() {
		return trace{host: one.host, call: name, ticket: one.ticket()}, true
	}
	refused := one.code == "CLAIM_LOST" || slices.Contains(decided, one.code)
	if g == nil || name == "" || one.force || !one.ok() && !one.unknown() && !refused {
		return trace{}, false
	}
	return trace{one.host, name, g.ticket(), one.code, g.token}, true
}

// countLost: were as many calls refused with a code within a minute as are recorded one by one, and the daemon killed before it told of
// more? (docs/audit.md)
func (s *story) countLost(t trace, calls []*call) bool {
	const minute, limit = int64(time.Minute), 20
	for _, one := range calls {
		n := 0
		for _, a := range s.audits {
			if a.Host == t.host && a.Fields["PICKET_CODE"] == t.code && a.at > one.came-minute && a.at < one.came+minute {
				n++
			}
		}
		if t.code != "" && n >= limit && s.faults.crashed(t.host, one.came, one.came+minute) {
			return true
		}
	}
	return false
}

// inQueue: may the records of some calls have been lost with a daemon that was killed? (docs/audit.md, "Numbers")
func (s *story) inQueue(host string, calls []*call) bool {
	return slices.ContainsFunc(calls, func(c *call) bool { return s.faults.crashed(host, c.sent, c.came+int64(2*time.Second)) })
}
