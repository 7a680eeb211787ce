// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTheMarksSayWhichNumbersTheJournalTook, by the hour, over restarts, and forget old ones.
func TestTheMarksSayWhichNumbersTheJournalTook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, err := openMarks(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	note := func(run string, last int64, after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if err := m.note(run, last, now); err != nil {
			t.Fatal(err)
		}
	}
	note("a", 3, 0)
	note("a", 3, time.Minute)
	note("a", 9, time.Minute)
	note("a", 12, time.Hour)
	if m, err = openMarks(dir); err != nil {
		t.Fatal(err)
	}
	note("b", 2, time.Minute)
	marks, err := Marks(dir)
	if got := spansOf(marks); err != nil || got != "a 1-9 a 10-12 b 1-2 " {
		t.Errorf("got %q, %v", got, err)
	}
	note("b", 4, marksKept)
	if got := spansOf(m.all); got != "b 1-2 b 3-4 " {
		t.Errorf("a month later it is %q", got)
	}
	note("c", 1, -2*time.Hour)
	note("c", 2, -2*time.Hour)
	if got := spansOf(m.all); got != "b 1-2 b 3-4 c 1-1 c 2-2 " {
		t.Errorf("with a clock that goes back it is %q", got)
	}
	note("c", 3, -2*marksKept)
	if got := spansOf(m.all); got != "c 3-3 " {
		t.Errorf("with a clock that was ahead it is %q", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func spansOf(marks []Mark) (s string) {
	for _, k := range marks {
		s += fmt.Sprintf("%s %d-%d ", k.Run, k.First, k.Last)
	}
	return s
}
