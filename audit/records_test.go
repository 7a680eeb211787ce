// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
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

// wantNumbered demands that the records of one run are numbered from 1 without a gap but for those that a record tells of, which it
// returns.
func wantNumbered(t *testing.T, text string) (dropped []string) {
	t.Helper()
	v := NewVerifier(time.Time{}, true)
	for r, err := range NewReader(func(err error) { t.Error(err) }).Lines(strings.NewReader(text), "the records") {
		if err != nil {
			t.Fatal(err)
		}
		v.Add(r)
	}
	runs := v.Runs()
	if len(runs) != 1 || !runs[0].Whole() {
		t.Fatalf("the records are not whole: %+v\n%s", runs, text)
	}
	return runs[0].Dropped
}
