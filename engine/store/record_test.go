// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picketd/picket/engine/redistest"
)

// TestARecordIsReadAsItWasWritten: with the ticket, in the answer of the write, and in the history.
func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s, by := over(t, c), Writer{Nonce: "n", Agent: "1/0"}
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\t", "{", "a\tb\nc", "资产", "<&>", "\u2028", "1\tstep\t"}))
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		id := ID("a", "t"+strings.Repeat("x", n%50)+time.Now().Format("150405.000000000"))
		if err := c.Set(t.Context(), s.Keys.Lock(id.Asset), by.Nonce, 0).Err(); err != nil {
			r.Fatal(err)
		}
		by.Nonce = id.Task
		c.Set(t.Context(), s.Keys.Lock(id.Asset), by.Nonce, 0)
		m, err := s.Mint(t.Context(), id, by, AssetInference)
		if err != nil || m.Code != OK {
			r.Fatal(m.Code, err)
		}
		by.Token, by.Number = m.Token, 0
		facts := map[string]string{}
		want := Step{State: AssetOnline, Summary: text.Draw(r, "summary"), Token: m.Token, Host: "host-a"}
		for range rapid.IntRange(0, 2).Draw(r, "facts") {
			facts[text.Draw(r, "name")] = text.Draw(r, "value")
		}
		b, err := json.Marshal(facts)
		if err != nil {
			r.Fatal(err)
		}
		want.Facts = b
		for i, name := range []string{"online", "vuln"} { // so that the first is not the last of the log
			by.Number++
			w, err := s.Step(AssetInference, by.Token, name, []State{AssetOnline, VulnCheckDone}[i], b, want.Summary)
			if err != nil {
				r.Fatal(err)
			}
			written, err := s.WriteClaim(t.Context(), id, by, w, "")
			if err != nil || written.Code != OK {
				r.Fatal(written.Code, err)
			}
			snap, err := s.Read(t.Context(), id)
			if err != nil {
				r.Fatal(err)
			}
			read, err := snap.Ticket(id)
			if err != nil {
				r.Fatal(err)
			}
			read.Holder = nil
			for how, known := range map[string]Records{"known": written.Recorded, "read": nil} {
				if got, err := s.Complete(t.Context(), id, written.Hash, known); err != nil || !reflect.DeepEqual(got, read) {
					r.Fatalf("%s: got %+v, %v\nwant %+v", how, got, err, read)
				}
			}
			want.At = read.UpdatedAt
			if i == 0 && !reflect.DeepEqual(read.Steps["online"], want) {
				r.Fatalf("got %+v\nwant %+v", read.Steps["online"], want)
			}
		}
		events, _, err := s.History(t.Context(), id)
		if err != nil || len(events) != 3 || string(events[1].Facts) != string(b) || events[1].Reason != "" || events[2].Seq != 3 {
			r.Fatalf("the history has %+v, %v", events, err)
		}
	})
}

// TestARecordThatIsLostIsAnError, never a ticket without facts: nobody may think that nothing was found.
func TestARecordThatIsLostIsAnError(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s, id := over(t, c), ID("a", "t")
	for name, value := range map[string]string{"record.vuln": "0 10 x", ofContent: "0 10 x"} {
		if err := c.HSet(t.Context(), s.Keys.Ticket(id), "state", string(VulnCheckDone), name, value).Err(); err != nil {
			t.Fatal(err)
		}
		snap, err := s.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := snap.Ticket(id); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
		if got, err := s.Complete(t.Context(), id, snap.Hash, nil); err == nil {
			t.Errorf("%s: completed to %+v", name, got)
		}
		c.Del(t.Context(), s.Keys.Ticket(id))
	}
}

// TestAHistoryIsWholeHoweverItIsCut: a page may end between an event and what it recorded.
func TestAHistoryIsWholeHoweverItIsCut(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s, id := over(t, c), ID("a", "t")
	step := "5\tstep\tA\tB\t7\tvuln\th\t1/0\t\tsummary"
	for before := range 9 {
		c.Del(t.Context(), s.Keys.Log(id))
		for range before {
			c.RPush(t.Context(), s.Keys.Log(id), "5\tclaimed\tA\tA\t7\t\th\t1/0\t\t")
		}
		for range 4 {
			c.RPush(t.Context(), s.Keys.Log(id), step, `{"a":1}`)
		}
		c.RPush(t.Context(), s.Keys.Log(id), "5\tnotifying\tA\tB\t7\t\th\t1/0\t\t", `{"title":"x"}`, `{"a":1}`)
		events, _, err := s.History(t.Context(), id)
		if err != nil || len(events) != before+5 {
			t.Fatalf("%d before: %d events, %v", before, len(events), err)
		}
		for i, e := range events {
			if e.Seq != int64(i+1) || (string(e.Facts) == `{"a":1}`) != (i >= before) {
				t.Errorf("%d before: %+v", before, e)
			}
		}
	}
}
