// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"
)

// auditLog keeps what is told to the audit.
type auditLog struct {
	mu  sync.Mutex
	got []audit.Event
}

func (l *auditLog) add(a audit.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, a)
}

// all are the records until now.
func (l *auditLog) all() []audit.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

// moves are the records as "kind from to".
func (l *auditLog) moves() (moves []string) {
	for _, a := range l.all() {
		moves = append(moves, fmt.Sprintf("%s %s %s", a.Kind, a.From, a.To))
	}
	return moves
}

// neverLost is that no claim was told as lost.
func (l *auditLog) neverLost(t *testing.T) {
	t.Helper()
	if slices.ContainsFunc(l.all(), func(a audit.Event) bool { return a.Kind == audit.Lost }) {
		t.Errorf("the audit says that it was lost: %q", l.moves())
	}
}

func TestAClaimThatEndedByItselfIsToldOfByTheNext(t *testing.T) { everywhere(t, auditOfTheClaimBefore) }

func TestEachOutcomeIsToldOnce(t *testing.T) { everywhere(t, auditOfOutcomes) }

// auditOfTheClaimBefore: its daemon is frozen and says nothing; the claim that follows on the asset finds what it left.
func auditOfTheClaimBefore(t *testing.T, s *shared) {
	told := &auditLog{}
	f := s.fleet(t)
	gone, here := f.frozen("host-a"), f.frozen("host-b", func(c *Config) { c.Audit = told.add })
	c, _ := claimed(t, gone, "left", "t")
	notified(t, gone, c, "ops")
	deliver(t, gone, c.Ticket, "ops", outbox.Sent, outbox.Go)
	if err := s.Client.Del(t.Context(), gone.store.Keys.Lock("left")).Err(); err != nil { // as it runs out
		t.Fatal(err)
	}
	claimed(t, here, "left", "u")
	want := []string{"claimed  INIT", "lost  ", "finished NOTIFIED FINISHED"}
	if got := told.moves(); !slices.Equal(got, want) {
		t.Errorf("told is %q, want %q", got, want)
	}
	if lost := told.got[1]; lost.Token != c.Token || lost.Host != "host-a" || lost.Asset != "left" || lost.Task != "t" || lost.Agent == "" {
		t.Errorf("the loss is told as %+v", lost)
	}
}

// auditOfOutcomes: what was told before is a replay, what comes too late is refused.
func auditOfOutcomes(t *testing.T, s *shared) {
	told := &auditLog{}
	e := s.fleet(t).frozen("host-a", func(c *Config) { c.Audit = told.add })
	c, _ := claimed(t, e, "once", "t")
	intent := notified(t, e, c, "ops")
	before := len(told.moves())
	deliver(t, e, c.Ticket, "ops", outbox.Pending, outbox.Go)
	o := outcome(c.Ticket, intent, "ops", 2, outbox.Sent)
	for range 2 {
		if _, err := e.Outcome(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	o.Status = outbox.Unknown
	if _, err := e.Outcome(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"attempt NOTIFYING NOTIFYING", "undelivered NOTIFYING NOTIFYING", "receipt NOTIFYING NOTIFIED", "replayed NOTIFIED NOTIFIED",
		"refused NOTIFIED NOTIFIED",
	}
	if got := told.moves()[before:]; !slices.Equal(got, want) {
		t.Errorf("told is %q, want %q", got, want)
	}
}
