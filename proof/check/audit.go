// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
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

// audit joins the answers with the audit: each write, accepted or refused, left one record on its host. (G12)
func (c *checker) audit() {
	answered, open := map[trace][]*call{}, map[trace]int{}
	for _, one := range c.calls {
		t, ok := c.traceOf(one)
		switch {
		case !ok:
		case one.unknown(), one.damaged():
			open[t]++
			open[one.refusal("")]++ // it may have been refused, too
		default:
			answered[t] = append(answered[t], one)
		}
		if ok && one.kind == toStep && one.in.Finish { // what was recorded before is a replay, and the claim's end a second record
			t.code = ""
			open[t]++
		}
	}
	noted := map[trace][]int{}
	for _, a := range c.audits {
		if t, ok := a.trace(); ok {
			noted[t] = append(noted[t], a.n)
			c.ofItsKind(t, a)
		}
	}
	more := c.moreRefused()
	for _, t := range slices.SortedFunc(maps.Keys(answered), func(a, b trace) int { return strings.Compare(a.String(), b.String()) }) {
		calls, n := answered[t], len(noted[t])
		var records []int
		for _, one := range calls {
			records = append(records, one.records()...)
		}
		records = append(records, noted[t]...)
		most := len(calls) + open[t.open()] + open[trace{host: t.host, call: t.call, ticket: t.ticket}]
		if n > most || n < len(calls) && !c.excused(t, calls, len(calls)-n, more) {
			c.violate("G12", t.ticket, records, "%d answers, and %d records in the audit: %s", len(calls), n, t)
		}
	}
}

// excused: may the records of so many of the calls have been lost with a daemon that was killed, or are they told of together?
func (c *checker) excused(t trace, calls []*call, missing int, more refusedMore) bool {
	for _, one := range calls {
		switch {
		case missing == 0:
			return true
		case c.inQueue(one.host, one.sent, one.came):
			c.excuse(wasInQueue)
		case c.countLost(t, one):
			c.excuse("G12: the daemon was killed before it had told how many more refused calls there were")
		default:
			continue
		}
		missing--
	}
	if missing > 0 && more.have(t, calls, missing) {
		c.excuse("G12: more of a user's refused calls than are recorded one by one")
		return true
	}
	return missing == 0
}

// ofItsKind: a call's record has a kind that such a call can have.
func (c *checker) ofItsKind(t trace, a auditRecord) {
	if event := a.Fields["PICKET_EVENT"]; t.code == "" && !slices.Contains(kinds[t.call], event) {
		c.violate("G12", t.ticket, []int{a.n}, "a record of the kind %s in the audit: %s", event, t)
	}
}

// countLost: were as many calls refused with a code within a minute as are recorded one by one, and the daemon killed before it told of
// more? (docs/audit.md)
func (s *story) countLost(t trace, c *call) bool {
	n := 0
	for _, a := range s.audits {
		if a.Host == t.host && a.Fields["PICKET_CODE"] == t.code && a.at > c.came-minute && a.at < c.came+minute {
			n++
		}
	}
	return t.code != "" && n >= oneByOne && s.faults.killed(t.host, c.came, c.came+minute)
}

// inQueue: may a record that was made in this time have been lost with a daemon that was killed? (docs/audit.md, "Numbers")
func (s *story) inQueue(host string, from, to int64) bool {
	return s.faults.killed(host, from, to+queued)
}

const wasInQueue = "G12: the daemon was killed with the record in its queue"

// queued is for how long a record may wait in a daemon's queue.
const queued = int64(2 * time.Second)
