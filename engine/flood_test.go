// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

func fat(size int) json.RawMessage {
	return json.RawMessage(`{"a":"` + strings.Repeat("x", size) + `"}`)
}

// TestSameFailureIsCounted: the same failure again takes the place of the one before it, under its number; another does not.
func TestSameFailureIsCounted(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one")
	c, _ := claimed(t, e, "a", "t")
	for _, text := range []string{"x", "x", "x", "y", "x"} {
		if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: text}); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := e.History(t.Context(), c.Ticket)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, one := range list {
		if one.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i+1, one.Seq)
		}
		got = append(got, fmt.Sprint(one.Event, one.Reason, one.Count))
	}
	if want := []string{"claimed0", "failurex3", "failurey0", "failurex0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ticket, err := e.Ticket(t.Context(), c.Ticket)
	if err != nil || ticket.Failure.Count != 5 || ticket.Revision != 4 {
		t.Errorf("got %+v, %v", ticket, err)
	}
}

// TestFullHistoryCounts: past 1,000 events, what an agent can repeat without end is counted in one event; what cannot be is kept.
func TestFullHistoryCounts(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("one")
	c, _ := claimed(t, e, "a", "t")
	raw, log := server.Client(), e.store.Keys.Log(c.Ticket)
	first, err := raw.LIndex(t.Context(), log, 0).Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.RPush(t.Context(), log, slices.Repeat([]any{first}, 999)...).Err(); err != nil {
		t.Fatal(err)
	}
	if err := raw.HSet(t.Context(), e.store.Keys.Ticket(c.Ticket), "revision", 1000).Err(); err != nil {
		t.Fatal(err)
	}
	step(t, e, c, "online", "ASSET_ONLINE", "{}") // is kept, and what follows is counted beside it
	for i := range 5 {
		if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "vuln", Error: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		if err := e.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
		c, _ = claimed(t, e, "a", "t")
	}
	step(t, e, c, "vuln", "VULN_CHECK_DONE", "{}")
	list, _, err := e.History(t.Context(), c.Ticket)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range list {
		got = append(got, fmt.Sprint(one.Seq, one.Event, one.Count))
	}
	if want := []string{"1000claimed0", "1001step0", "1002claimed15", "1003step0"}; len(got) < 1000 || !slices.Equal(got[999:], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHistoryComesInPages: a history of large events is read piece by piece, whole and in order, whatever is written meanwhile.
func TestHistoryComesInPages(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one")
	c, _ := claimed(t, e, "a", "t")
	const failures = 60
	for i := range failures {
		if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: fmt.Sprint(i, strings.Repeat("e", 4000))}); err != nil {
			t.Fatal(err)
		}
	}
	step(t, e, c, "online", "ASSET_ONLINE", string(fat(400<<10)))
	var seen []int64
	pages, largest := 0, 0
	_, err := e.EachEvent(t.Context(), c.Ticket, func(page []store.Event) error {
		pages++
		size := 0
		for _, one := range page {
			seen = append(seen, one.Seq)
			size += len(one.Reason) + len(one.Facts)
		}
		largest = max(largest, size)
		_, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "vuln", Error: fmt.Sprint(pages)})
		return err
	})
	if err != nil || len(seen) != failures+2 || !slices.IsSorted(seen) || pages < 3 || largest > 400<<10+store.HistoryWeight/2 {
		t.Errorf("%d events in %d pages of up to %d bytes: %v", len(seen), pages, largest, err)
	}
	stop := errors.New("enough")
	if _, err := e.EachEvent(t.Context(), c.Ticket, func([]store.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestListingReadsNoFacts: however large facts are, a listing does not read them, and shows what it did before.
func TestListingReadsNoFacts(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one")
	c, _ := claimed(t, e, "a", "t")
	for _, s := range []StepRequest{
		{Step: "online", State: "ASSET_ONLINE", Facts: fat(300 << 10), Summary: "is up"},
		{Step: "vuln", State: "VULN_CHECK_DONE", Facts: fat(10)},
		{Step: "assess", State: "HIGH_RISK_FOUND", Facts: fat(100 << 10)},
	} {
		if _, err := e.Step(t.Context(), c.ID, agent, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "T", Text: "X", Severity: "high", Facts: fat(200 << 10)}); err != nil {
		t.Fatal(err)
	}
	list, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 10})
	if err != nil || len(list.Tickets) != 1 {
		t.Fatal(list, err)
	}
	got := list.Tickets[0]
	if got.Bytes > 4000 {
		t.Errorf("%d bytes were read", got.Bytes)
	}
	whole, err := e.Ticket(t.Context(), c.Ticket)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range whole.Steps {
		s.Facts = nil
		whole.Steps[name] = s
	}
	whole.Notification.Facts = nil
	whole.Holder, got.Holder, got.Bytes = nil, nil, 0
	one, _ := json.Marshal(whole)
	other, _ := json.Marshal(got)
	if string(one) != string(other) {
		t.Errorf("the listing says %s, the ticket %s", other, one)
	}
}

// TestListingEndsAtItsBytes: a page of many large tickets ends early, with a cursor that leads to the rest.
func TestListingEndsAtItsBytes(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("one")
	const tickets = 6
	for i := range tickets {
		c, _ := claimed(t, e, fmt.Sprint("a", i), "t")
		if err := server.Client().HSet(t.Context(), e.store.Keys.Ticket(c.Ticket), "summary", strings.Repeat("s", store.ListWeight/4)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	seen, pages := 0, 0
	for cursor := ""; ; pages++ {
		page, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 100, Cursor: cursor})
		if err != nil || len(page.Tickets) > 3 {
			t.Fatal(len(page.Tickets), err)
		}
		seen += len(page.Tickets)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if seen != tickets || pages < 2 {
		t.Errorf("%d tickets on %d pages", seen, pages+1)
	}
}

// TestDamagedTicketsAreListed: as such. Of one whose key is no hash it is said that it is missing.
func TestDamagedTicketsAreListed(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("one")
	for i := range 4 {
		claimed(t, e, fmt.Sprint("a", i), "t")
	}
	raw := server.Client()
	id := func(i int) store.TicketID { return store.ID(store.Asset(fmt.Sprint("a", i)), "t") }
	if _, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 10}); err != nil { // writes the index
		t.Fatal(err)
	}
	for _, err := range []error{
		raw.HSet(t.Context(), e.store.Keys.Ticket(id(0)), "record.online", "7 0 x").Err(),
		raw.Del(t.Context(), e.store.Keys.Ticket(id(1))).Err(), raw.Set(t.Context(), e.store.Keys.Ticket(id(1)), "no hash", 0).Err(),
		raw.HSet(t.Context(), e.store.Keys.Ticket(id(2)), "failure", "x").Err(),
		raw.ZAdd(t.Context(), e.store.Keys.Index("*", "INIT"), redis.Z{Score: 1e15, Member: "no id of a ticket"}).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 10})
	var damaged []string
	for _, one := range list.Tickets {
		damaged = append(damaged, one.ID.String()+" "+one.Damaged)
	}
	want := []string{"a3/t ", "a2/t Redis has lost what was recorded of the failure", "a0/t Redis has lost what was recorded of online"}
	if err != nil || !slices.Equal(damaged, want) || !list.Incomplete {
		t.Errorf("got %q, %v, incomplete %v", damaged, err, list.Incomplete)
	}
}

// TestCursorIsANumber: what stands for no number is a cursor that no listing gave.
func TestCursorIsANumber(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("one")
	for _, score := range []string{"NaN", "nan", "Inf", "-Inf", "+Inf", "1e999", "x", ""} {
		var invalid *InvalidError
		cursor := base64.RawURLEncoding.EncodeToString([]byte(score + " a/t"))
		if _, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 1, Cursor: cursor}); !errors.As(err, &invalid) {
			t.Errorf("%q: %v", score, err)
		}
	}
}
