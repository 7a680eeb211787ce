// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// hashOf is a ticket as it may stand in Redis, of lines NAME=VALUE.
func hashOf(fields string) Hash {
	h := Hash{}
	for line := range strings.Lines(fields) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			h[name] = value
		}
	}
	return h
}

// ranged is LRANGE.
func ranged(log []string, first, last int64) []string {
	n := int64(len(log))
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	if first > last || first >= n {
		return nil
	}
	return log[first : min(last, n-1)+1]
}

const (
	fuzzedTicket = "flow=asset-inference\nstate=FINISHED\ntoken=7\nrun=1\nrevision=4\ncreated_at=5\nupdated_at=6\nhigh_risk=1\nchannels=ops\n" +
		"delivery.ops=sent\nattempts.ops=1\nat.ops=6\nhost.ops=h\nrecord.online=1 0 x\nrecord.vuln=2 7 x\nrecord.notification=4 22 x\n" +
		"failure={\"step\":\"vuln\",\"error\":\"e\"}\nfailure_count=2\nfailure_step=vuln\n"
	fuzzedLog = "5\tclaimed\tINIT\tINIT\t7\t\th\t1/0\t\t\n6\tstep\tINIT\tASSET_ONLINE\t7\tonline\th\t1/0\t\tup\n" +
		"6\tstep\tASSET_ONLINE\tVULN_CHECK_DONE\t7\tvuln\th\t1/0\t\tsum\n{\"a\":1}\n6\tnotifying\tHIGH_RISK_FOUND\tNOTIFYING\t7\t\th\t1/0\t\t\n" +
		"{\"title\":\"t\"}\n{\"aaa\":1}"
)

// FuzzTicket: whatever Redis has left of a ticket and its log, it is read without a panic; one is whole, or called damaged and nobody
// is told that its risk is not high; and what is answered is JSON.
func FuzzTicket(f *testing.F) {
	f.Add(fuzzedTicket, fuzzedLog)
	f.Add(strings.Replace(fuzzedTicket, "high_risk=1", "high_risk=0", 1), fuzzedLog[:len(fuzzedLog)-20])
	f.Add("state=FINISHED\nhigh_risk=\x00\n", "")
	f.Add("state=FINISHED\nrecord.assess=9223372036854775807 9 x\n", fuzzedLog)
	f.Fuzz(func(t *testing.T, fields, elements string) {
		h, log := hashOf(fields), strings.Split(elements, "\n")
		records, missing := Records{}, 0
		for field, value := range h {
			if !strings.HasPrefix(field, recordOf) {
				continue
			}
			first, last := span(field, value, true)
			r, ok := decodeRecord(field, value, ranged(log, first, last), true)
			if !ok {
				missing++
				continue
			}
			records[field] = r
			if (Hash{field: value}).outlives(first) {
				continue // which a listing sees
			}
			t.Fatalf("%s=%s does not count as longer than its log", field, value)
		}
		ticket, err := h.Ticket(ID("a", "t"), records)
		if (missing > 0 || risk(h["high_risk"]) == nil && h["high_risk"] != "") && err == nil {
			t.Fatalf("it passes for whole: %+v", ticket)
		}
		if (err != nil) != (ticket.Damaged != "") {
			t.Fatalf("it is damaged or not, as one looks at it: %+v, %v", ticket, err)
		}
		if high := ticket.HighRisk; high != nil && !*high && h["high_risk"] != "0" {
			t.Fatalf("%q is read as no high risk", h["high_risk"])
		}
		if s := h.stand(); s.HighRisk != nil && !*s.HighRisk && h["high_risk"] != "0" {
			t.Fatalf("%q stands in the index as no high risk", h["high_risk"])
		} else if h["state"] != "" && h["high_risk"] != "" && s.HighRisk == nil && !s.Damaged {
			t.Fatalf("%q stands in the index as not assessed", h["high_risk"])
		}
		for name, step := range ticket.Steps {
			if !json.Valid(step.Facts) {
				t.Fatalf("the facts of %s are no JSON: %q", name, step.Facts)
			}
		}
		if n := ticket.Notification; n != nil && n.Facts != nil && !json.Valid(n.Facts) {
			t.Fatalf("the facts of the notification are no JSON: %q", n.Facts)
		}
		_, _, _, _ = ticket.WhyFailed(), ticket.next(), h.Severity(), h.Retried("ops")
		if len(h) > 0 && !reflect.DeepEqual(h.Pack().hash(), h) {
			t.Fatal("it is unpacked as another than was packed")
		}
	})
}

// FuzzHistory: whatever stands in a log and among the refused writes, a history of it can be told.
func FuzzHistory(f *testing.F) {
	f.Add(fuzzedLog)
	f.Add("3 5 STALE_TOKEN {\"event\":\"step\",\"to\":\"ASSET_ONLINE\"}")
	f.Fuzz(func(t *testing.T, elements string) {
		log := strings.Split(elements, "\n")
		events := decodeEvents(log)
		if len(events) > len(log) {
			t.Fatalf("%d events of %d elements", len(events), len(log))
		}
		for _, e := range events {
			if e.Facts != nil && !json.Valid(e.Facts) {
				t.Fatalf("facts that are no JSON: %q", e.Facts)
			}
		}
		for _, element := range log {
			_ = refusedEvent(element)
			_ = decodeStand(strings.Fields(element))
			if g := decodeGrant(strings.Split(element, " ")); g != (Grant{}) {
				_ = (&Snapshot{Lock: g.Nonce, Grant: g}).Holder()
			}
		}
	})
}

// FuzzKeyAndCursor: a name that a scan of Redis or a caller hands in is that of one ticket, or of one place, or refused.
func FuzzKeyAndCursor(f *testing.F) {
	f.Add("picket:{web-01}:ticket:w48", "web-01/w48")
	f.Add(position{score: -1.5, member: "web-01/w48"}.String(), "web/01/w48")
	f.Fuzz(func(t *testing.T, key, id string) {
		if id, ok := (Keys{"picket"}).ticketAt(key); ok && (Keys{"picket"}).Ticket(id) != key {
			t.Fatalf("%q is taken for %v", key, id)
		}
		if p, err := parsePosition(key); err == nil && key != "" {
			if again, err := parsePosition(p.String()); err != nil || again != p {
				t.Fatalf("%q is read as %v, which is read as %v, %v", key, p, again, err)
			}
		}
		parsed, err := ParseTicketID(id)
		if err != nil {
			return
		}
		if again, err := ParseTicketID(parsed.String()); err != nil || again != parsed {
			t.Fatalf("%q is read as %v, which is read as %v, %v", id, parsed, again, err)
		}
	})
}
