// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// What journalctl makes of a field that cannot be printed, is too long, or stands there twice.
func TestJournalctlsFormsOfAField(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`"a"`: "a", `[226,128,174]`: "\u202e", `null`: "", `["b","c"]`: "b", `[[97,98],"c"]`: "ab"} {
		var got journalText
		if err := json.Unmarshal([]byte(in), &got); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", in, got, err)
		}
	}
}

// TestARecordIsReadAsItWasWritten, in each of its fields.
func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	r := fullRecord()
	out := &lines{}
	s := &lineSink{out: out}
	if err := errors.Join(s.send(r), s.flush()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for got, err := range NewReader(func(err error) { t.Error(err) }).Lines(strings.NewReader(out.String()), "a line") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, c := range columns {
			if got, was := c.text(got.value()), c.text(r.value()); got != was {
				t.Errorf("%s is read as %q, was %q", c.name, got, was)
			}
		}
		for like, want := range map[*Record]bool{{Ticket: "a/t", AgentUID: "2"}: true, {Event: Event{Code: "D"}}: false} {
			if f := (&Filter{Like: *like}); f.Matches(got) != want {
				t.Errorf("that %v matches is %v", f.matches(), !want)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d records were read", n)
	}
}
