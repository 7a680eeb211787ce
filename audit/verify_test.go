// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"strings"
	"testing"
	"time"
)

func TestASpanWithoutOthers(t *testing.T) {
	t.Parallel()
	for others, want := range map[string]string{"": "1-9", "1-9": "", "3": "1-2 4-9", "1 9": "2-8", "0-4 6-20": "5", "2-3 3-5": "1 6-9", "10-12": "1-9"} {
		var got []string
		for _, n := range (span{1, 9}).without(parseSpans(others)) {
			got = append(got, n.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("1-9 without %q is %v, want %s", others, got, want)
		}
	}
}

// TestRotationTakesOnlyWhatIsOldest: before all that is left of the daemon, and before all that is left of anybody.
func TestRotationTakesOnlyWhatIsOldest(t *testing.T) {
	t.Parallel()
	day := func(d, hour int) time.Time { return time.Date(2026, 11, d, hour, 0, 0, 0, time.UTC) }
	marks := []Mark{{Run: "a", Began: day(1, 8), First: 1, Last: 9}, {Run: "b", Began: day(2, 8), First: 1, Last: 5}, {Run: "b", Began: day(2, 9), First: 6, Last: 9}, {Run: "c", Began: day(3, 8), First: 1, Last: 2}}
	for name, c := range map[string]struct {
		left          map[string]span
		since, begins time.Time
		rotated, gone string
	}{
		"whole":                          {left: map[string]span{"a": {1, 9}, "b": {1, 9}, "c": {1, 2}}, begins: day(1, 7)},
		"a run":                          {left: map[string]span{"b": {1, 9}, "c": {1, 2}}, begins: day(2, 7), rotated: "a 1-9"},
		"a run and a half":               {left: map[string]span{"b": {7, 9}, "c": {1, 2}}, begins: day(2, 9), rotated: "a 1-9 b 1-5 b 6"},
		"all of them":                    {begins: day(4, 8), rotated: "a 1-9 b 1-5 b 6-9 c 1-2"},
		"a run between":                  {left: map[string]span{"a": {1, 9}, "c": {1, 2}}, begins: day(1, 7), gone: "b 1-5 b 6-9"},
		"an end":                         {left: map[string]span{"b": {1, 3}, "c": {1, 2}}, begins: day(2, 7), rotated: "a 1-9", gone: "b 4-5 b 6-9"},
		"a run, and others' are left":    {left: map[string]span{"b": {1, 9}, "c": {1, 2}}, begins: day(1, 7), gone: "a 1-9"},
		"noted a while after the record": {left: map[string]span{"a": {2, 9}, "b": {1, 9}, "c": {1, 2}}, begins: day(1, 8).Add(-time.Minute), rotated: "a 1"},
		"whoever asks for a time":        {left: map[string]span{"c": {1, 2}}, since: day(2, 7), begins: day(3, 7), gone: "b 1-5 b 6-9"},
	} {
		v := NewVerifier(c.since, false)
		for name, n := range c.left {
			v.runs[name] = &Run{Run: name, First: n.first, Last: n.last}
			v.order = append(v.order, v.runs[name])
		}
		v.Compare(marks, c.begins)
		var rotated, gone []string
		for _, name := range []string{"a", "b", "c"} {
			if r := v.runs[name]; r != nil {
				for _, n := range r.rotated {
					rotated = append(rotated, name+" "+n.String())
				}
				for _, n := range r.gone {
					gone = append(gone, name+" "+n.String())
				}
			}
		}
		if got := strings.Join(rotated, " "); got != c.rotated {
			t.Errorf("%s: rotated is %q, want %q", name, got, c.rotated)
		}
		if got := strings.Join(gone, " "); got != c.gone {
			t.Errorf("%s: gone is %q, want %q", name, got, c.gone)
		}
	}
}
