// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

var noon = time.Now().Add(-time.Minute).Truncate(time.Millisecond)

// stood is a stand so many ms after noon.
func stood(state State, ms int, marks ...bool) Stand {
	is := Stand{State: state, Run: 1, Revision: int64(ms) + 1, UpdatedAt: noon.Add(time.Duration(ms) * time.Millisecond)}
	if len(marks) == 2 {
		is.Failed, is.HighRisk = marks[0], &marks[1]
	}
	return is
}

// places are the sets of a part of the index in which a member is.
func places(t *testing.T, c redis.UniversalClient, s *Store, part, member string) (in []string) {
	t.Helper()
	names := []string{setFailed, setHighRisk}
	for _, state := range states() {
		names = append(names, string(state))
	}
	for _, name := range names {
		if n, err := c.ZScore(t.Context(), s.Keys.Index(part, name), member).Result(); err == nil && n > 0 {
			in = append(in, name)
		}
	}
	slices.Sort(in)
	return in
}

// TestTheNewestStandWins: a ticket is in the sets of its newest stand, and in no other, in whatever order the batches come.
func TestTheNewestStandWins(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	life := []Stand{
		stood(Init, 0), stood(Init, 1, true, false), stood(AssetOnline, 2), stood(VulnCheckDone, 3), stood(HighRiskFound, 4, false, true),
		stood(Notifying, 5, false, true), stood(Failed, 5, true, true),
	}
	life[6].Revision++ // in the same ms
	for end, want := range map[int][]string{
		1: {"INIT", "failed"}, 2: {"ASSET_ONLINE"}, 4: {"HIGH_RISK_FOUND", "high_risk"}, 6: {"FAILED", "failed", "high_risk"},
	} {
		for range 30 {
			id := ID(Asset(fmt.Sprint("a-", rand.Int64())), "t")
			for _, i := range rand.Perm(end + 1) {
				if left, err := s.place(t.Context(), map[TicketID]entry{id: {Stand: life[i], score: life[i].score()}}); err != nil || len(left) > 0 {
					t.Fatal(err)
				}
			}
			for part, member := range map[string]string{all: id.String(), "t": string(id.Asset)} {
				if in := places(t, c, s, part, member); !slices.Equal(in, want) {
					t.Fatalf("after %d stands it is in %q of %s, want %q", end+1, in, part, want)
				}
			}
		}
	}
}

// TestAFinishedTicketLeavesNoMark of what it was before, nor does one that is gone; and neither costs more than its place in one set.
func TestAFinishedTicketLeavesNoMark(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	done, lost := ID("done", "t"), ID("lost", "t")
	for _, is := range []Stand{stood(Init, 0), stood(VulnCheckDone, 1, true, true), stood(Finished, 2, false, false)} {
		s.Touch(done, is)
		if is.State != Finished {
			s.Touch(lost, is)
		}
		if err := s.flushIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.touch(lost, entry{score: stood(VulnCheckDone, 1).score()})
	if err := s.flushIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in := places(t, c, s, "t", "done"); !slices.Equal(in, []string{"FINISHED"}) {
		t.Errorf("it is in %q", in)
	}
	keys, err := c.Keys(t.Context(), "*").Result()
	slices.Sort(keys)
	if want := []string{s.Keys.Index(all, "FINISHED"), s.Keys.Tasks(), s.Keys.Index("t", "FINISHED")}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("left is %q, want %q; %v", keys, want, err)
	}
}

// TestAReadTicketPutsTheIndexRight, though the index says that it was written later: Redis went back. What was written since stays.
func TestAReadTicketPutsTheIndexRight(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	for written, want := range map[bool]string{false: "INIT", true: "FAILED"} {
		id := ID(Asset(fmt.Sprint(written)), "t")
		wrong, real := stood(Finished, 10), stood(Init, 2)
		s.Touch(id, wrong)
		if written {
			s.Touch(id, stood(Failed, 11))
		}
		if err := s.flushIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.touch(id, entry{Stand: real, score: real.score(), wrong: wrong.score()})
		if err := s.flushIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		if in := places(t, c, s, "t", string(id.Asset)); !slices.Contains(in, want) || slices.Contains(in, "FINISHED") {
			t.Errorf("written %v: it is in %q, want %s", written, in, want)
		}
	}
}

// TestTheIndexForgets what is older than any ticket, but no ticket in NOTIFYING, and keeps the newest FINISHED ones of all.
func TestTheIndexForgets(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c) // which keeps tickets for an hour
	old := map[TicketID]entry{}
	for state, asset := range map[State]Asset{Init: "init", Failed: "failed", Finished: "finished", Notifying: "notifying"} {
		is := stood(state, -7_200_000, state == Failed, state != Init)
		is.Revision = 1
		old[ID(asset, "t")] = entry{Stand: is, score: is.score()}
	}
	if _, err := s.place(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	for id := range old {
		is := stood(old[id].State, 0, old[id].Failed, true)
		if _, err := s.place(t.Context(), map[TicketID]entry{ID("new-"+id.Asset, "t"): {Stand: is, score: is.score()}}); err != nil {
			t.Fatal(err)
		}
	}
	where, err := c.HKeys(t.Context(), s.Keys.Index("t", "where")).Result()
	slices.Sort(where)
	if want := []string{"new-failed", "new-finished", "new-init", "new-notifying", "notifying"}; err != nil || !slices.Equal(where, want) {
		t.Errorf("it knows %q, want %q; %v", where, want, err)
	}
	for _, asset := range []string{"init", "failed", "finished"} {
		if in := places(t, c, s, "t", asset); in != nil {
			t.Errorf("%s is in %q", asset, in)
		}
	}
	for key, life := range lives(t, c) {
		if life <= 0 && key != s.Keys.Tasks() {
			t.Errorf("%s lives for ever", key)
		}
	}
}

func lives(t *testing.T, c *redis.Client) map[string]time.Duration {
	t.Helper()
	lives := map[string]time.Duration{}
	for _, key := range c.Keys(t.Context(), "*").Val() {
		lives[key] = c.PTTL(t.Context(), key).Val()
	}
	return lives
}

// TestWhatCannotBeIndexedWaits until Redis is there again.
func TestWhatCannotBeIndexedWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	s.Touch(ID("a", "t"), stood(Init, 0))
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.flushIndex(t.Context()); err == nil {
		t.Error("a full Redis took it")
	}
	s.Touch(ID("a", "t"), stood(Finished, 1))
	s.Touch(ID("b", "t"), stood(Init, 1))
	if page, err := s.Tickets(t.Context(), TicketQuery{Limit: 1}); err != nil || !page.Incomplete {
		t.Errorf("a listing that lacks tickets says %+v, %v", page, err)
	}
	if err := c.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.flushIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{"a": places(t, c, s, "t", "a"), "b": places(t, c, s, "t", "b")}
	if want := map[string][]string{"a": {"FINISHED"}, "b": {"INIT"}}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
}
