// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestAMarkOutlivesNothingThatItRestsOn: neither what was read before a ticket was reopened, nor the tickets themselves.
func TestAMarkOutlivesNothingThatItRestsOn(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	of := []Asset{"a"}
	write := func(state State) {
		t.Helper()
		if err := c.HSet(t.Context(), s.Keys.Ticket(ID("a", "t")), "state", string(state), "run", 1, "updated_at", time.Now().UnixMilli()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	open := func(want int) {
		t.Helper()
		if got, err := s.Chunk(t.Context(), "t", of, "data"); err != nil || len(got.Open) != want {
			t.Errorf("%+v, %v, want %d open", got, err, want)
		}
	}
	mark := func(field, epoch, value string, most int) int {
		t.Helper()
		v, err := markScript.Run(t.Context(), c, []string{s.Keys.Marks("t")}, field, epoch, value, 1000, most).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		return int(v[0])
	}
	// A host that stood still between reading and marking.
	before, err := s.marked(t.Context(), "t", "f")
	if err != nil || !before.open {
		t.Fatalf("%+v, %v", before, err)
	}
	asked := time.Now()
	until, err := s.Unmark(t.Context(), ID("a", "t"))
	if err != nil {
		t.Fatal(err)
	}
	if reopenWithin < 2*CallTimeout || until.Before(asked.Add(reopenWithin-time.Millisecond)) || until.After(time.Now().Add(reopenWithin)) {
		t.Errorf("asked at %s it can be reopened until %s", asked, until)
	}
	if mark("f", before.epoch, "{}", 10) != 0 {
		t.Error("it marks what it read before a ticket was reopened")
	}
	meanwhile, err := s.marked(t.Context(), "t", "f")
	if err != nil || meanwhile.open || mark("f", meanwhile.epoch, "{}", 10) != 0 {
		t.Errorf("while a ticket may be reopened there is %+v, %v", meanwhile, err)
	}
	if n := c.PTTL(t.Context(), s.Keys.reopening("t")).Val(); n < 4*CallTimeout || n > unmarkedFor {
		t.Errorf("nothing is marked for %s", n)
	}
	if err := c.Del(t.Context(), s.Keys.reopening("t")).Err(); err != nil {
		t.Fatal(err)
	}
	after, err := s.marked(t.Context(), "t", "f")
	if err != nil || !after.open || mark("f", before.epoch, "{}", 10) != 0 || mark("f", meanwhile.epoch, "{}", 10) != 0 ||
		mark("f", after.epoch, "{}", 0) != 0 || mark("f", after.epoch, "{}", 1) != 1 {
		t.Errorf("%+v follows %+v, %v", after, before, err)
	}

	// The life of the first ticket is over.
	write(Finished)
	open(0)
	write(Init)
	open(0)
	fields := c.HGetAll(t.Context(), s.Keys.Marks("t")).Val()
	for name, value := range fields {
		if !strings.Contains(value, "data") {
			continue
		}
		for _, worthless := range []string{
			strings.Replace(value, `"oldest":`, `"oldest":1,"x":`, 1), strings.Replace(value, `}`, `,"failed":[1]}`, 1), "damaged",
		} {
			if err := c.HSet(t.Context(), s.Keys.Marks("t"), name, worthless).Err(); err != nil {
				t.Fatal(err)
			}
			open(1)
		}
	}
	if got, err := s.Chunk(t.Context(), "t", of, ""); err != nil || got.Basis != "" {
		t.Errorf("on unknown data it rests on %q, %v", got.Basis, err)
	}
}

func TestListsOfATaskAreNoted(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	for i := range listsMost + 3 {
		lists, err := s.NoteList(t.Context(), "t", strings.Repeat("a", i+1), i)
		if err != nil || len(lists) != min(i+1, listsMost) {
			t.Fatalf("%d lists, %v", len(lists), err)
		}
	}
	if lists, err := s.NoteList(t.Context(), "t", "aa", 7); err != nil || lists["aa"] != 7 {
		t.Errorf("%v, %v", lists["aa"], err)
	}
	if life := c.PTTL(t.Context(), s.Keys.Lists("t")).Val(); life <= 0 || life > time.Hour {
		t.Errorf("they live for %s", life)
	}
}
