// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestWhoWorksForAReport: a run counts as at work until it says otherwise, or is not heard of any more; its list stays.
func TestWhoWorksForAReport(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	id := ID("list:nightly", "w48")
	note := func(list, run string, works bool, want int, lists string) {
		t.Helper()
		for range 2 { // the reply of the first was lost
			got, err := s.NoteReport(t.Context(), ReportNote{Ticket: id, List: list, Total: 7, Run: run, Works: works})
			if err != nil || got.Works != want || fmt.Sprint(got.Lists) != lists {
				t.Errorf("%s: %+v, %v; want %d and %s", run, got, err, want, lists)
			}
		}
	}
	note("a", "one", true, 0, "map[a:7]")
	note("a", "two", true, 1, "map[a:7]")
	note("b", "two", true, 1, "map[a:7 b:7]")
	note("a", "one", false, 1, "map[a:7 b:7]")
	note("b", "two", true, 0, "map[a:7 b:7]")
	key := s.Keys.report(id)
	if n := number(c.HGet(t.Context(), key, "run.two").Val()) - time.Now().UnixMilli(); n <= 0 || n > reportLease.Milliseconds() {
		t.Errorf("a run counts for %d ms more", n)
	}
	if n := c.HLen(t.Context(), key).Val(); n != 4 {
		t.Errorf("there are %d fields", n)
	}
	began := c.HGet(t.Context(), key, "began").Val()
	c.HSet(t.Context(), key, "run.two", strconv.FormatInt(time.Now().Add(-time.Minute).UnixMilli(), 10))
	note("a", "one", true, 0, "map[a:7 b:7]")
	if c.HExists(t.Context(), key, "run.two").Val() || c.HGet(t.Context(), key, "began").Val() != began {
		t.Errorf("it is %v now", c.HGetAll(t.Context(), key).Val())
	}
	c.HSet(t.Context(), key, "began", strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10))
	if got, err := s.NoteReport(t.Context(), ReportNote{Ticket: id, List: "a", Total: 7, Run: "one"}); err != nil || got.Age < time.Hour {
		t.Errorf("%+v, %v", got, err)
	}
	if life := c.PTTL(t.Context(), key).Val(); life <= 0 {
		t.Errorf("it lives for %s", life)
	}
}

// TestAReportHasAnEnd: of lists, and of runs at work.
func TestAReportHasAnEnd(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	note := func(task, list, run string) error {
		_, err := s.NoteReport(t.Context(), ReportNote{Ticket: ID("list:nightly", task), List: list, Total: 7, Run: run, Works: true})
		return err
	}
	for i := range listsMost {
		if err := note("lists", strings.Repeat("a", i+1), "one"); err != nil {
			t.Fatal(err)
		}
	}
	if err := note("lists", "b", "one"); !errors.Is(err, ErrReportLists) {
		t.Errorf("one list more: %v", err)
	}
	if err := note("lists", "a", "two"); err != nil {
		t.Errorf("a list that is known: %v", err)
	}
	for i := range reportRuns {
		if err := note("runs", "a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := note("runs", "a", "more"); !errors.Is(err, ErrReportRuns) {
		t.Errorf("one run more: %v", err)
	}
	if err := note("runs", "a", "0"); err != nil {
		t.Errorf("a run that is known: %v", err)
	}
}

// TestAListIsKeptInParts, and lives longer when it is noted again.
func TestAListIsKeptInParts(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	if of, err := s.Part(t.Context(), "a", 0); err != nil || of != nil {
		t.Errorf("of none there is %q, %v", of, err)
	}
	want := []Asset{"web 01", "täst", "[::1]:80/x"}
	for range 2 {
		if err := s.PutPart(t.Context(), "a", 1, want); err != nil {
			t.Fatal(err)
		}
	}
	if of, err := s.Part(t.Context(), "a", 1); err != nil || fmt.Sprint(of) != fmt.Sprint(want) {
		t.Errorf("got %q, %v", of, err)
	}
	key := s.Keys.list("a")
	c.PExpire(t.Context(), key, time.Minute)
	got, err := s.NoteReport(t.Context(), ReportNote{Ticket: ID("list:nightly", "w48"), List: "a", Total: 2000, Run: "one"})
	if life := c.PTTL(t.Context(), key).Val(); err != nil || got.Parts != 1 || life <= time.Minute {
		t.Errorf("%+v, %v; it lives for %s", got, err, life)
	}
}
