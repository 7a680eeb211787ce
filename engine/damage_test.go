// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestATicketWhoseLogIsLostIsShownAndNeverDone(t *testing.T) { everywhere(t, lostLog) }

func TestADamagedTicketIsMendedByReopeningIt(t *testing.T) { everywhere(t, mendedTicket) }

// finishedAsRisk makes a ticket that is FINISHED, at high risk, and told nobody.
func finishedAsRisk(t *testing.T, e *Engine, asset store.Asset) store.TicketID {
	t.Helper()
	c, _ := claimed(t, e, string(asset), "t")
	advance(t, e, c, store.VulnCheckDone)
	if _, err := step(t, e, c, "assess", store.Finished, `{"high_risk":true}`); err != nil {
		t.Fatal(err)
	}
	letGo(t, e, asset)
	return c.Ticket
}

// lostLog: whoever reads it is told, whoever counts does not count it as done, and nobody is granted it.
func lostLog(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	look(t, e)
	of := []store.Asset{"lost", "whole"}
	lost := finishedAsRisk(t, e, of[0])
	finishedAsRisk(t, e, of[1])
	for range 2 {
		chunkOf(t, e, of, []int{}, nil, []int{0, 1}) // which marks it
	}
	if err := s.Client.Del(t.Context(), e.store.Keys.Log(lost)).Err(); err != nil {
		t.Fatal(err)
	}
	count := func(finished, damaged int64) {
		t.Helper()
		task, _, err := e.Task(t.Context(), "t")
		if err != nil || task.Total != 2 || task.States[store.Finished] != finished || task.Damaged != damaged {
			t.Errorf("the task is %+v, %v", task, err)
		}
	}
	if err := e.courier.Walk(t.Context()); err != nil { // which finds what nobody reads
		t.Fatal(err)
	}
	count(1, 1)
	chunkOf(t, e, of, []int{0}, nil, []int{1}) // in spite of the mark
	if states, err := e.States(t.Context(), []store.TicketID{lost}); err != nil || !states[0].Damaged {
		t.Errorf("its state is %+v, %v", states, err)
	}
	ticket, err := e.Ticket(t.Context(), lost)
	if !errors.Is(err, store.ErrTicketDamaged) || ticket.State != store.Finished || ticket.Damaged != "Redis has lost what was recorded of assess, online, vuln" {
		t.Errorf("it is %+v, %v", ticket, err)
	}
	for range 2 {
		for name, q := range map[string]store.TicketQuery{
			"all": {}, "of its task": {Task: "t"}, "of its asset": {Asset: "lost"}, "FINISHED": {State: store.Finished}, "high risk": {HighRisk: true}, "damaged": {Damaged: true},
		} {
			q.Limit = 1
			if ids := listed(t, e, q); !slices.Contains(ids, "lost/t") || slices.Contains(ids, "whole/t") != !(q.Damaged || q.Asset != "") {
				t.Errorf("%s: %q", name, ids)
			}
		}
		count(1, 1)
		for _, part := range []string{"t", "*"} {
			if err := s.Client.Del(t.Context(), e.store.Keys.Index(part, "damaged")).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.courier.Walk(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Claim(t.Context(), ask("lost", "t")); !errors.Is(err, store.ErrTicketDamaged) {
		t.Errorf("it is claimed: %v", err)
	}
	if names, _ := events(t, e, lost); len(names) > 0 {
		t.Errorf("its history is %v", names)
	}
}

// mendedTicket: of a log of which anything is missing, or in which other events have come to stand, and in whatever state the ticket is but
// NOTIFYING, which ends by itself.
func mendedTicket(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	redis := s.Client
	for name, c := range map[string]struct {
		damage func(log string) error
		lost   string
	}{
		"the log is gone":    {func(log string) error { return redis.Del(t.Context(), log).Err() }, "online, vuln"},
		"its end is gone":    {func(log string) error { return redis.LTrim(t.Context(), log, 0, 1).Err() }, "vuln"},
		"its facts are gone": {func(log string) error { return redis.LRem(t.Context(), log, 0, `{"n":1}`).Err() }, "vuln"},
		"other events are in": {func(log string) error {
			return redis.LSet(t.Context(), log, 2, redis.LIndex(t.Context(), log, 0).Val()).Err()
		}, "vuln"},
		"other facts are in": {func(log string) error { return redis.LSet(t.Context(), log, 3, `{"n":100}`).Err() }, "vuln"},
	} {
		asset := store.Asset(name)
		k, _ := claimed(t, e, name, "t")
		advance(t, e, k, store.AssetOnline)
		if _, err := step(t, e, k, "vuln", store.VulnCheckDone, `{"n":1}`); err != nil {
			t.Fatal(err)
		}
		if err := c.damage(e.store.Keys.Log(k.Ticket)); err != nil {
			t.Fatal(err)
		}
		ticket, err := e.Ticket(t.Context(), k.Ticket)
		if !errors.Is(err, store.ErrTicketDamaged) || !strings.HasSuffix(ticket.Damaged, " of "+c.lost) {
			t.Errorf("%s: %q, %v", name, ticket.Damaged, err)
		}
		letGo(t, e, asset)
		if _, err := e.Claim(t.Context(), ask(name, "t")); !errors.Is(err, store.ErrTicketDamaged) {
			t.Errorf("%s: it is claimed: %v", name, err)
		}
		if ticket, err = e.Reopen(t.Context(), k.Ticket, "1/0", "Redis lost it"); err != nil || ticket.Damaged != "" || ticket.Run != 2 || ticket.State != store.Init {
			t.Errorf("%s: reopened, it is %+v, %v", name, ticket, err)
		}
		if ids := listed(t, e, store.TicketQuery{Damaged: true, Limit: 10}); slices.Contains(ids, k.Ticket.String()) {
			t.Errorf("%s: it still counts as damaged", name)
		}
		k, _ = claimed(t, e, name, "t")
		advance(t, e, k, store.VulnCheckDone)
	}

	// An open one that is whole is not reopened, nor one whose notification is on its way.
	var illegal *store.TransitionError
	k, _ := claimed(t, e, "whole", "t")
	if _, err := e.Reopen(t.Context(), k.Ticket, "1/0", "?"); !errors.As(err, &illegal) {
		t.Errorf("an open ticket: %v", err)
	}
	advance(t, e, k, store.HighRiskFound)
	if _, err := e.Notify(t.Context(), k.ID, agent, delivery.Request{Title: "x", Severity: "low"}); err != nil {
		t.Fatal(err)
	}
	if err := redis.Del(t.Context(), e.store.Keys.Log(k.Ticket)).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(t.Context(), k.ID, agent, ""); err != nil { // this claim knows what it recorded
		t.Fatal(err)
	}
	if _, err := e.Reopen(t.Context(), k.Ticket, "1/0", "?"); !errors.As(err, &illegal) {
		t.Errorf("in NOTIFYING: %v", err)
	}
	if ticket, err := e.Discard(t.Context(), delivery.Resolution{Ticket: k.Ticket, By: "1/0", Reason: "lost"}); err != nil || ticket.State != store.Failed {
		t.Errorf("discarded, it is %s, %v", ticket.State, err)
	}
	if ticket, err := e.Reopen(t.Context(), k.Ticket, "1/0", "lost"); err != nil || ticket.Run != 2 {
		t.Errorf("then reopened: run %d, %v", ticket.Run, err)
	}
}

func TestAnAssetsTicketsAreIndexedByTheirLastWrite(t *testing.T) { everywhere(t, assetIndex) }

// assetIndex: whatever writes to a ticket, a break and another task's claim too, the asset's index has it at that time.
func assetIndex(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	same := func(what string, tasks ...string) {
		t.Helper()
		for _, task := range tasks {
			id := store.ID("indexed", task)
			at, _ := e.Ticket(t.Context(), id)
			score, err := s.Client.ZScore(t.Context(), e.store.Keys.Tickets(id.Asset), task).Result()
			if err != nil || int64(score) != at.UpdatedAt.UnixMilli() {
				t.Errorf("%s: %s is indexed at %.0f, %v, and was written at %d", what, id, score, err, at.UpdatedAt.UnixMilli())
			}
		}
	}
	later := func() { // another ms by Redis' clock
		t.Helper()
		now := s.Client.Time(t.Context()).Val().UnixMilli()
		await(t, "another ms", func() bool { return s.Client.Time(t.Context()).Val().UnixMilli() > now })
	}
	c, _ := claimed(t, e, "indexed", "t")
	advance(t, e, c, store.HighRiskFound)
	same("a step", "t")
	later()
	letGo(t, e, "indexed") // by expiry
	claimed(t, e, "indexed", "u")
	same("a claim for another task", "t", "u")
	later()
	if err := e.Break(t.Context(), "indexed", "1/0", "it hangs"); err != nil {
		t.Fatal(err)
	}
	same("a break", "t", "u")
	c, _ = claimed(t, e, "indexed", "t")
	later()
	in := notified(t, e, c, "ops")
	same("a notification", "t")
	for range 2 { // a replay too
		later()
		verdict(t, e, attempt(e, c.Ticket, in, "ops", 1), outbox.Go)
		same("an attempt", "t")
	}
	later()
	if _, err := e.Outcome(t.Context(), outcome(c.Ticket, in, "ops", 1, outbox.Sent)); err != nil { // NOTIFIED, while it is held
		t.Fatal(err)
	}
	same("a receipt", "t")
	later()
	letGo(t, e, "indexed")
	claimed(t, e, "indexed", "u") // which finishes the other
	same("another claim", "t", "u")
}
