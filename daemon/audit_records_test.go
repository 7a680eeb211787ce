// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// gate is where an audit goes that can be read while it is written, and shut, so that writing blocks.
type gate struct {
	lines
	shut sync.Mutex
}

func (g *gate) Write(p []byte) (int, error) {
	g.shut.Lock()
	defer g.shut.Unlock()
	return g.lines.Write(p)
}

// recordsIn are the records of an audit that was kept as JSON lines.
func recordsIn(t *testing.T, text string) (records []map[string]string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r map[string]string
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("not a record: %s: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

// find returns the first record that has these fields.
func find(records []map[string]string, want map[string]string) map[string]string {
	for _, r := range records {
		if has(r, want) {
			return r
		}
	}
	return nil
}

// has reports whether a record has these fields; one that is wanted to be empty must be missing.
func has(r, want map[string]string) bool {
	for name, value := range want {
		if got, ok := r[name]; got != value || ok != (value != "") {
			return false
		}
	}
	return true
}

// wantNumbered demands that the records of one run are numbered from 1 without a gap but for those that a record tells of.
func wantNumbered(t *testing.T, records []map[string]string) (dropped []int64) {
	t.Helper()
	seen := map[int64]bool{}
	var last int64
	for _, r := range records {
		seq, err := strconv.ParseInt(r["PICKET_SEQ"], 10, 64)
		if err != nil || seq <= last {
			t.Errorf("after number %d comes %q", last, r["PICKET_SEQ"])
		}
		seen[seq], last = true, seq
		for span := range strings.FieldsSeq(r["PICKET_DROPPED"]) {
			first, end, many := strings.Cut(span, "-")
			if !many {
				end = first
			}
			from, _ := strconv.ParseInt(first, 10, 64)
			to, _ := strconv.ParseInt(end, 10, 64)
			for n := from; n <= to; n++ {
				dropped = append(dropped, n)
			}
		}
		if r["PICKET_RUN"] != records[0]["PICKET_RUN"] || r["PICKET_RUN"] == "" {
			t.Errorf("record %d is of run %q, the first of %q", seq, r["PICKET_RUN"], records[0]["PICKET_RUN"])
		}
	}
	for n := int64(1); n <= last; n++ {
		if seen[n] == slices.Contains(dropped, n) {
			t.Errorf("number %d: there is %v, told as dropped %v", n, seen[n], !seen[n])
		}
	}
	return dropped
}

// kindsIn are the kinds of records that are there.
func kindsIn(records []map[string]string) map[string]bool {
	kinds := map[string]bool{}
	for _, r := range records {
		kinds[r["PICKET_EVENT"]] = true
	}
	return kinds
}
