// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/engine/store"
)

func TestPagesOfWhatDoesNotChangeHaveAllOfItOnce(t *testing.T) { everywhere(t, changingPages) }

// changingPages: while half of the tickets are written to between two pages, which moves them, the others are listed once each.
func changingPages(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	const n = 40
	var claims []*Claim
	for i := range n {
		c, _ := claimed(t, e, fmt.Sprintf("page-%02d", i), "t")
		claims = append(claims, c)
	}
	seen := map[store.TicketID]int{}
	q := store.TicketQuery{Task: "t", Limit: 3}
	for i := 0; ; i++ {
		page, err := e.Tickets(t.Context(), q)
		if err != nil || i > 4*n {
			t.Fatal(i, err)
		}
		for _, one := range page.Tickets {
			seen[one.ID]++
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
		c := claims[(i*6+1)%n|1] // one of an odd number
		if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: fmt.Sprint("no route ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < n; i += 2 {
		if id := claims[i].Ticket; seen[id] != 1 {
			t.Errorf("%s is listed %d times", id, seen[id])
		}
	}
}

// TestMarksThatRunOutAreMadeAnew: between two looks at a chunk, and between a look and its mark.
func TestMarksThatRunOutAreMadeAnew(t *testing.T) { everywhere(t, marksRunOut) }

func marksRunOut(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	look(t, e)
	of := []store.Asset{"out-0", "out-1"}
	for _, a := range of {
		c, _ := claimed(t, e, string(a), "t")
		if _, err := step(t, e, c, "online", store.AssetOffline, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
			t.Fatal(err)
		}
	}
	first := chunkOf(t, e, of, []int{}, nil, nil)
	if err := s.Client.Del(t.Context(), e.store.Keys.Marks("t")).Err(); err != nil {
		t.Fatal(err)
	}
	second := chunkOf(t, e, of, []int{}, nil, nil)
	if second == first || second == "" { // who had seen the first looks again: a ticket may have been reopened since
		t.Errorf("it rests on %q, and on %q before the marks ran out", second, first)
	}
	if third := chunkOf(t, e, of, []int{}, nil, nil); third != second {
		t.Errorf("it rests on %q, and on %q before", third, second)
	}
}

// TestHostsWithOneLabelAreToldOfTheirOwnClaims: a break is told to both, and ends the claim of the one that has it.
func TestHostsWithOneLabelAreToldOfTheirOwnClaims(t *testing.T) { everywhere(t, oneLabel) }

func oneLabel(t *testing.T, s *shared) {
	f := s.fleet(t)
	a := f.patient("twin")
	b := f.frozen("twin", func(c *Config) { c.TTL = testTTL })
	b.Start()
	mine, _ := claimed(t, a, "mine", "t")
	other, _ := claimed(t, b, "other", "t")
	if err := b.Break(t.Context(), "mine", "1/0", "it hangs"); err != nil {
		t.Fatal(err)
	}
	lostFor(t, a, mine, ReasonForced)
	if _, err := step(t, a, mine, "online", store.AssetOnline, ""); err == nil {
		t.Error("a broken claim writes")
	}
	if r, err := step(t, b, other, "online", store.AssetOnline, ""); err != nil || r.Ticket.State != store.AssetOnline {
		t.Errorf("the other's claim: %+v, %v", r, err)
	}
}
