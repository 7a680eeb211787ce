// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

func TestG4_NoWayButAlongTheFlow(t *testing.T) { everywhere(t, alongTheFlow) }

func TestATicketOfAnotherFlowIsNotClaimed(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a")
	c, _ := claimed(t, e, "a", "t")
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	f.client.HSet(t.Context(), e.store.Keys.Ticket(c.Ticket), "flow", "another")
	_, err := e.Claim(t.Context(), ask("a", "t"))
	wantErr(t, err, ErrFlowMismatch)
	if n := f.client.Exists(t.Context(), e.store.Keys.Lock("a")).Val(); n != 0 {
		t.Error("it is locked")
	}
}

func TestG4_TerminalStatesAbsorb(t *testing.T) { everywhere(t, terminalAbsorbs) }

func TestG5_AStepIsRecordedOnce(t *testing.T) { everywhere(t, recordedOnce) }

func TestG5_AnOfflineAssetComesOnline(t *testing.T) { everywhere(t, comesOnline) }

func TestG6_TheNextClaimResumes(t *testing.T) { everywhere(t, resumes) }

func TestFactsComeBackToTheLetter(t *testing.T) { everywhere(t, factsToTheLetter) }

func TestFailuresAreCountedAndCleared(t *testing.T) { everywhere(t, failures) }

func TestFinishAndRelease(t *testing.T) { everywhere(t, finishAndRelease) }

func TestF11_F29_AnUnfinishedTicketWithoutALockCanBeClaimed(t *testing.T) {
	everywhere(t, unfinishedIsClaimable)
}

// alongTheFlow puts a ticket into every state and tries every step to every state, finish, and final failure.
func alongTheFlow(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	along(t, e, store.AssetInference, "flow-")
	along(t, e, store.ListReport, "list:flow-")
}

func along(t *testing.T, e *Engine, flow *store.Flow, assets string) {
	t.Helper()
	states := []store.State{store.Init, store.AssetOnline, store.AssetOffline, store.VulnCheckDone, store.HighRiskFound, store.Gathered, store.Notifying, store.Notified, store.Finished, store.Failed}
	for i, from := range states {
		put := func(task string) *Claim {
			c := claimedIn(t, e, flow, fmt.Sprint(assets, i), task)
			e.config.Redis.HSet(t.Context(), e.store.Keys.Ticket(c.Ticket), "state", string(from))
			return c
		}
		next := flow.Next(from)
		allowed := func(by string, to store.State) bool {
			return slices.ContainsFunc(next, func(n store.Next) bool { return n.Step == by && slices.Contains(n.States, to) })
		}
		n := 0
		try := func(what string, ok bool, do func(*Claim) error) {
			n++
			c := put(fmt.Sprintf("t%d", n))
			err := do(c)
			var illegal *store.TransitionError
			switch {
			case ok && err != nil:
				t.Errorf("%s in %s: %v", what, from, err)
			case !ok && !errors.As(err, &illegal):
				t.Errorf("%s in %s: got error %v, want an illegal transition", what, from, err)
			case !ok && illegal.State != from:
				t.Errorf("%s in %s: the error says %s", what, from, illegal.State)
			case !ok && state(t, e, c.Ticket) != from:
				t.Errorf("%s in %s moved it to %s", what, from, state(t, e, c.Ticket))
			}
			_ = e.Release(t.Context(), c.ID, agent)
		}
		for _, name := range flow.Steps() {
			for _, to := range states {
				try(name+" to "+string(to), allowed(name, to), func(c *Claim) error {
					_, err := step(t, e, c, name, to, "")
					return err
				})
			}
		}
		try("finish", allowed("finish", store.Finished) || from == store.Finished, func(c *Claim) error {
			_, err := e.Finish(t.Context(), c.ID, agent, "")
			return err
		})
		try("final failure", len(next) > 0 && from != store.Notifying, func(c *Claim) error {
			_, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{flow.Steps()[0], "broken", true})
			return err
		})
		try("notify", allowed("notify", store.Notifying), func(c *Claim) error {
			_, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err
		})
	}
}

func terminalAbsorbs(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "absorb", "t")
	if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{"online", "no route", true}); err != nil {
		t.Fatal(err)
	}
	v, err := e.GetClaim(c.ID, agent)
	if err != nil || v.Status != Held {
		t.Errorf("the claim is %s after a final failure, want it open until it is released (%v)", v.Status, err)
	}
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	r, err := e.Claim(t.Context(), ask("absorb", "t"))
	if err != nil || r.Claim != nil || r.Ticket.State != store.Failed || len(r.Next) != 0 || r.Next == nil {
		t.Errorf("a terminal ticket is claimed: %+v, %v", r, err)
	}
	if e.config.Redis.Exists(t.Context(), e.store.Keys.Lock("absorb")).Val() != 0 {
		t.Error("a lock was taken for a terminal ticket")
	}
}

func recordedOnce(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "once", "t")
	if r, err := step(t, e, c, "online", store.AssetOnline, `{"a":1,"b":[1.0,"x"]}`); err != nil || r.Replayed {
		t.Fatalf("got %+v, %v", r, err)
	}
	for facts, same := range map[string]bool{
		`{"b":[1.0,"\u0078"], "a":1}`: true,
		`{"a":1.0,"b":[1.0,"x"]}`:     false,
		`{"a":1}`:                     false,
	} {
		r, err := step(t, e, c, "online", store.AssetOnline, facts)
		if same && (err != nil || !r.Replayed) {
			t.Errorf("%s: got %+v, %v, want a replay", facts, r, err)
		}
		if !same {
			wantErr(t, err, ErrStepConflict)
		}
	}
	// Replay and conflict are looked for before the arrow is.
	if _, err := step(t, e, c, "vuln", store.VulnCheckDone, ""); err != nil {
		t.Fatal(err)
	}
	if r, err := step(t, e, c, "online", store.AssetOnline, `{"a":1,"b":[1.0,"x"]}`); err != nil || !r.Replayed || r.Ticket.State != store.VulnCheckDone {
		t.Errorf("got %+v, %v, want a replay", r, err)
	}
	_, err := step(t, e, c, "online", store.AssetOffline, "")
	wantErr(t, err, ErrStepConflict)
	if _, err := step(t, e, c, "intel", store.VulnCheckDone, `{"kev":true}`); err != nil {
		t.Error(err)
	}
	_, err = step(t, e, c, "intel", store.VulnCheckDone, `{"kev":false}`)
	wantErr(t, err, ErrStepConflict)
	names, _ := events(t, e, c.Ticket)
	if n := len(slices.DeleteFunc(names, func(s string) bool { return s != "step" })); n != 3 {
		t.Errorf("%d steps in the history, want 3", n)
	}
	_, err = step(t, e, c, "lunch", store.AssetOnline, "")
	wantErr(t, err, store.ErrUnknownStep)
}

func comesOnline(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "wakes", "t")
	if _, err := step(t, e, c, "online", store.AssetOffline, `{"ping":false}`); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", store.AssetOffline, `{"ping":true}`)
	wantErr(t, err, ErrStepConflict)
	r, err := step(t, e, c, "online", store.AssetOnline, `{"ping":true}`)
	if err != nil || r.Replayed || r.Ticket.Steps["online"].State != store.AssetOnline {
		t.Fatalf("got %+v, %v", r, err)
	}
	list, _, err := e.History(t.Context(), c.Ticket)
	if err != nil || len(list) != 3 || string(list[1].Facts) != `{"ping":false}` {
		t.Errorf("the old record is not in the history: %+v, %v", list, err)
	}
}

func resumes(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	ca, _ := claimed(t, a, "resume", "t")
	advance(t, a, ca, store.VulnCheckDone)
	letGo(t, a, "resume")
	_, r := claimed(t, b, "resume", "t")
	if r.Ticket.State != store.VulnCheckDone || len(r.Ticket.Steps) != 2 || r.Ticket.Steps["vuln"].Host != "host-a" {
		t.Errorf("resumed with %+v", r.Ticket)
	}
	var next []string
	for _, n := range r.Next {
		next = append(next, n.Step)
	}
	if want := "intel assess finish"; strings.Join(next, " ") != want {
		t.Errorf("next is %v, want %s", next, want)
	}
}

func factsToTheLetter(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "letter", "t")
	facts := `{"z":[],"a":12345678901234567,"f":1.0,"e":1e400,"s":"<b>&\u2028 \u0000","n":null,"o":{}}`
	if _, err := step(t, e, c, "online", store.AssetOnline, facts); err != nil {
		t.Fatal(err)
	}
	ticket, err := e.Ticket(t.Context(), c.Ticket)
	if err != nil || string(ticket.Steps["online"].Facts) != facts {
		t.Errorf("got %s, %v\nwant %s", ticket.Steps["online"].Facts, err, facts)
	}
}

func failures(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "fails", "t")
	for i := range 3 {
		r, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "timeout"})
		if err != nil || r.Ticket.State != store.Init || r.Ticket.Failure.Count != int64(i+1) {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	r, err := step(t, e, c, "online", store.AssetOnline, "")
	if err != nil || r.Ticket.Failure != nil {
		t.Errorf("the failure stays after its step: %+v, %v", r.Ticket.Failure, err)
	}
	_, err = e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "lunch", Error: "x"})
	wantErr(t, err, store.ErrUnknownStep)
}

func finishAndRelease(t *testing.T, s *shared) {
	e := s.fleet(t).host("host-a")
	c, _ := claimed(t, e, "ends", "t")
	if _, err := step(t, e, c, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time answers as before
		ticket, err := e.Finish(t.Context(), c.ID, agent, "nothing there")
		if err != nil || ticket.State != store.Finished || ticket.Summary != "nothing there" || ticket.Holder != nil {
			t.Fatalf("got %+v, %v", ticket, err)
		}
	}
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Errorf("release after finish: %v", err)
	}
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantLost(t, err, ReasonReleased)
	if e.config.Redis.Exists(t.Context(), e.store.Keys.Lock("ends")).Val() != 0 {
		t.Error("the lock is still there")
	}
	c, _ = claimed(t, e, "ends", "u")
	if err := e.Release(t.Context(), c.ID, agent); err != nil {
		t.Fatal(err)
	}
	_, err = e.Finish(t.Context(), c.ID, agent, "")
	wantLost(t, err, ReasonReleased)
	_, err = e.GetClaim(c.ID, agent+1)
	wantErr(t, err, ErrForbidden)
	_, err = e.GetClaim("nonsense", agent)
	wantErr(t, err, ErrClaimNotFound)
}

func unfinishedIsClaimable(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("host-a"), f.host("host-b")
	ca, _ := claimed(t, a, "active", "t")
	advance(t, a, ca, store.AssetOnline)
	if _, err := b.Claim(t.Context(), ask("active", "t")); err == nil {
		t.Fatal("claimed while it was held")
	}
	letGo(t, a, "active")
	cb, r := claimed(t, b, "active", "t")
	if r.Ticket.State != store.AssetOnline {
		t.Errorf("state is %s", r.Ticket.State)
	}
	if _, err := step(t, b, cb, "vuln", store.VulnCheckDone, ""); err != nil {
		t.Error(err)
	}
}
