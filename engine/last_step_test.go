// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func TestTheLastStepEndsTheClaim(t *testing.T) { everywhere(t, lastStep) }

// assessed is the last step of an asset without a risk.
func assessed(facts string) StepRequest {
	return StepRequest{Step: "assess", State: store.Finished, Facts: []byte(facts), Finish: true}
}

func lastStep(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("a"), f.host("b")
	c, _ := claimed(t, a, "last", "t")
	var invalid *InvalidError
	if _, err := a.Step(t.Context(), c.ID, agent, StepRequest{Step: "online", State: store.AssetOnline, Finish: true}); !errors.As(err, &invalid) {
		t.Errorf("a step that leads elsewhere: %v", err)
	}
	advance(t, a, c, store.VulnCheckDone)
	waits := make(chan error, 1)
	go func() { // whoever waits for the asset is told that it is free
		r := ask("last", "u")
		r.Wait = time.Minute
		_, err := b.Claim(t.Context(), r)
		waits <- err
	}()
	r, err := a.Step(t.Context(), c.ID, agent, assessed(`{"n":1}`))
	if err != nil || r.Ticket.State != store.Finished || r.Replayed || r.Ticket.Holder != nil || len(r.Next) > 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	now, err := a.claims.get(c.ID, agent)
	if err != nil {
		t.Fatal(err)
	}
	if lost := now.lost(); lost == nil || lost.Reason != ReasonReleased {
		t.Errorf("the claim is lost by %v", lost)
	}
	names, _ := events(t, a, c.Ticket)
	if want := []string{"claimed", "step", "step", "step"}; !slices.Equal(names, want) {
		t.Errorf("the history is %v, want %v", names, want)
	}
	// Said again it is answered as before; anything else is refused.
	if r, err := a.Step(t.Context(), c.ID, agent, assessed(`{"n":1}`)); err != nil || !r.Replayed || r.Ticket.State != store.Finished {
		t.Errorf("again: %+v, %v", r, err)
	}
	if ticket, err := a.Finish(t.Context(), c.ID, agent, ""); err != nil || ticket.State != store.Finished {
		t.Errorf("finished: %s, %v", ticket.State, err)
	}
	var lost *LostError
	if _, err := step(t, a, c, "assess", store.Finished, `{"n":1}`); !errors.As(err, &lost) {
		t.Errorf("a step on the ended claim: %v", err)
	}

	// A step that was recorded without an end is ended by its repeat.
	c, _ = claimed(t, a, "late end", "t")
	advance(t, a, c, store.VulnCheckDone)
	if _, err := step(t, a, c, "assess", store.Finished, `{"n":1}`); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Step(t.Context(), c.ID, agent, assessed(`{"n":2}`)); !errors.Is(err, ErrStepConflict) {
		t.Errorf("another result: %v", err)
	}
	if n := s.Client.Exists(t.Context(), a.store.Keys.Lock("late end")).Val(); n != 1 {
		t.Error("another result has freed the lock")
	}
	if r, err := a.Step(t.Context(), c.ID, agent, assessed(`{"n":1}`)); err != nil || !r.Replayed {
		t.Errorf("its repeat: %+v, %v", r, err)
	}
	if n := s.Client.Exists(t.Context(), a.store.Keys.Lock("late end")).Val(); n != 0 {
		t.Error("its repeat has not freed the lock")
	}
}

// TestLastStepWithoutAnAnswer: it is sent again, and ends the claim once; with no answer at all, what became of it is asked.
func TestLastStepWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	e := (&fleet{t, c, "picket"}).host("a")
	if err := script("step").Load(t.Context(), c).Err(); err != nil {
		t.Fatal(err)
	}
	k, _ := claimed(t, e, "lossy", "t")
	advance(t, e, k, store.VulnCheckDone)
	proxy.LoseNextReply(script("step").Hash())
	r, err := e.Step(t.Context(), k.ID, agent, assessed(`{}`))
	if err != nil || r.Ticket.State != store.Finished {
		t.Fatalf("got %+v, %v", r, err)
	}
	if names, _ := events(t, e, k.Ticket); !slices.Equal(names, []string{"claimed", "step", "step", "step"}) {
		t.Errorf("the history is %v", names)
	}
	if kept, err := e.claims.get(k.ID, agent); err != nil || kept.lost() == nil || kept.lost().Reason != ReasonReleased {
		t.Errorf("the claim is %+v, %v", kept, err)
	}

	k, _ = claimed(t, e, "silent", "t")
	advance(t, e, k, store.VulnCheckDone)
	own, err := e.claims.get(k.ID, agent)
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.store.Step(own.flow, own.token, "assess", store.Finished, []byte(`{}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.write(t.Context(), own, w.AndFinish()); err != nil { // it has landed, and nobody knows
		t.Fatal(err)
	}
	e.noteUnanswered(own, store.Unavailable(errors.New("no answer")))
	e.conclude(own, ReasonExpired)
	if r, err := e.Step(t.Context(), k.ID, agent, assessed(`{}`)); err != nil || !r.Replayed || r.Ticket.State != store.Finished {
		t.Errorf("got %+v, %v", r, err)
	}
}
