// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A line that could not be written whole is finished when it can be.
func TestLinesOutliveAWriteThatFails(t *testing.T) {
	t.Parallel()
	out := &shortWriter{fail: true}
	s := &lineSink{out: out}
	r := newRecord(Event{Kind: Step}, "r", 1, nil)
	if err := s.send(r); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(); err == nil {
		t.Error("the failure was not told")
	}
	out.fail = false
	r.Seq = 2
	if err := errors.Join(s.send(r), s.flush()); err != nil {
		t.Fatal(err)
	}
	wantNumbered(t, out.String())
}

// shortWriter writes a part only while it fails.
type shortWriter struct {
	lines
	fail bool
}

func (w *shortWriter) Write(p []byte) (int, error) {
	if w.fail {
		n, _ := w.lines.Write(p[:len(p)/2])
		return n, errors.New("no space")
	}
	return w.lines.Write(p)
}

// TestALineIsWhatTheRecordSays, whatever stands in it.
func TestALineIsWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"plain", `"\`, "a\nb\x00\x1b", "böse \u202e <b>&", "\u2028", "\xff"} {
		out := &lines{}
		s := &lineSink{out: out}
		r := newRecord(Event{Kind: Step, Asset: odd, Task: "t", Step: odd}, "r", 7, nil)
		r.speak()
		if err := errors.Join(s.send(r), s.flush()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"PICKET_ASSET": strings.ToValidUTF8(odd, "\ufffd"), "PICKET_SEQ": "7", "PRIORITY": "6", "PICKET_FROM": "",
			"MESSAGE": strings.ToValidUTF8(fmt.Sprintf("%s/t: step %s is recorded, ? → ?", odd, odd), "\ufffd"),
		}
		if got := recordsIn(t, out.String()); len(got) != 1 || !has(got[0], want) {
			t.Errorf("%q became %q", odd, out)
		}
	}
}
