// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// lines are what was written; they can be read meanwhile.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
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
