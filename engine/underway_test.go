// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// ending is a host that tells an audit, and a claim on it whose ticket may be finished.
func ending(t *testing.T) (e *Engine, told *auditLog, k *Claim, c *claim) {
	t.Helper()
	f, _ := setup(t)
	told = &auditLog{}
	e = f.host("host-a", func(c *Config) { c.Audit = told.add })
	k, _ = claimed(t, e, "x", "t")
	if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e, told, k, c
}

// heldUp are two hosts, of which host-a holds a claim. Its release reaches Redis when its answer is asked for.
func heldUp(t *testing.T) (a, b *Engine, told *auditLog, k *Claim, answer func() error) {
	t.Helper()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	held, direct := client(proxy.Addr()), client(server.Addr())
	t.Cleanup(func() { _, _ = held.Close(), direct.Close() })
	told = &auditLog{}
	a = (&fleet{t, held, "picket"}).host("host-a", func(c *Config) { c.Audit = told.add })
	b = (&fleet{t, direct, "picket"}).host("host-b")
	k, _ = claimed(t, a, "x", "t")
	if _, err := step(t, a, k, "online", store.AssetOnline, ""); err != nil {
		t.Fatal(err)
	}
	c, err := a.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Freeze()
	got := make(chan error, 1)
	go func() { got <- a.Release(t.Context(), k.ID, agent) }()
	eventually(t, "the release is under way", func() bool { return len(c.writes) > 0 })
	return a, b, told, k, func() error {
		proxy.Thaw()
		return <-got
	}
}

// TestG5_AnEndThatIsUnderWayIsNotToldAsLost: the trust runs out while a finish is on its way to Redis. What became of it is asked when it
// has its answer, not before it lands.
func TestG5_AnEndThatIsUnderWayIsNotToldAsLost(t *testing.T) {
	t.Parallel()
	e, told, k, c := ending(t)
	over := e.endCall(c)
	if err := c.writes.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.conclude(c, ReasonExpired)
	ask, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	wantErr(t, e.resolveEnd(ask, c), store.ErrUnavailable)
	by := c.writer()
	by.Number = c.number + 1
	if _, err := e.store.WriteClaim(t.Context(), c.ticket, by, e.store.Finish(c.flow, "done"), ""); err != nil {
		t.Fatal(err)
	}
	over()
	c.writes.Leave()
	eventually(t, "it is known to have ended", func() bool {
		v, err := e.GetClaim(k.ID, agent)
		return err == nil && v.Reason == ReasonReleased
	})
	if _, err := e.Finish(t.Context(), k.ID, agent, "done"); err != nil {
		t.Errorf("again: %v", err)
	}
	told.neverLost(t)
}

// TestAReleaseThatWaitsHearsThatTheClaimIsLost: it was told as lost while the release waited behind another write. What was told stays.
func TestAReleaseThatWaitsHearsThatTheClaimIsLost(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a")
	k, _ := claimed(t, e, "x", "t")
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.writes.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- e.Release(t.Context(), k.ID, agent) }()
	eventually(t, "the release waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ending > 0
	})
	e.conclude(c, ReasonExpired)
	e.noteEnd(c, false)
	c.writes.Leave()
	wantLost(t, <-got, ReasonExpired)
	if names, _ := events(t, e, k.Ticket); slices.Contains(names, "released") {
		t.Errorf("the history is %q", names)
	}
}

// TestG5_OneEndThatIsRefusedDoesNotHideAnother: a finish is refused while a release is under way, whose lock is found gone.
func TestG5_OneEndThatIsRefusedDoesNotHideAnother(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { c.Audit = told.add })
	k, _ := claimed(t, e, "x", "t")
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	refused, release := e.endCall(c), e.endCall(c)
	refused()
	if _, err := e.store.Release(t.Context(), c.ticket, c.writer(), ""); err != nil {
		t.Fatal(err)
	}
	e.extend(t.Context(), c) // it finds no lock
	e.endHere(c)
	release()
	if err := e.Release(t.Context(), k.ID, agent); err != nil {
		t.Errorf("again: %v", err)
	}
	told.neverLost(t)
}

// TestG5_AFinishThatNeverLandedIsNotAnsweredAsDone: its request was lost, and the claim was released afterwards.
func TestG5_AFinishThatNeverLandedIsNotAnsweredAsDone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	redis := client(proxy.Addr())
	t.Cleanup(func() { _ = redis.Close() })
	e := (&fleet{t, redis, "picket"}).host("host-a")
	k, _ := claimed(t, e, "x", "t")
	if _, err := step(t, e, k, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	proxy.Refuse()
	_, err := e.Finish(t.Context(), k.ID, agent, "done")
	wantErr(t, err, store.ErrUnavailable)
	proxy.Restore()
	if err := e.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	_, err = e.Finish(t.Context(), k.ID, agent, "done")
	wantLost(t, err, ReasonReleased)
}

// TestG5_AReleaseThatComesTooLateIsALoss: its request is held up until the trust has run out and another has the asset. All that
// is answered about the claim says the same.
func TestG5_AReleaseThatComesTooLateIsALoss(t *testing.T) {
	t.Parallel()
	a, b, told, k, answer := heldUp(t)
	if err := b.config.Redis.Del(t.Context(), a.store.Keys.Lock("x")).Err(); err != nil { // its time is over
		t.Fatal(err)
	}
	claimed(t, b, "x", "t")
	c, err := a.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.conclude(c, ReasonExpired)
	wantLost(t, answer(), ReasonExpired)
	wantLost(t, a.Release(t.Context(), k.ID, agent), ReasonExpired)
	if moves := told.moves(); !slices.ContainsFunc(moves, func(s string) bool { return strings.Contains(s, string(audit.Lost)) }) ||
		slices.ContainsFunc(moves, func(s string) bool { return strings.Contains(s, string(audit.Released)) }) {
		t.Errorf("the audit says %q", moves)
	}
}

// TestG5_AFinishThatIsRepeatedIsNotRefusedWhileItIsAsked: the first one landed and got no answer; the second waits for its turn when the
// trust runs out.
func TestG5_AFinishThatIsRepeatedIsNotRefusedWhileItIsAsked(t *testing.T) {
	t.Parallel()
	e, told, k, c := ending(t)
	if err := c.writes.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	by := c.writer()
	by.Number = c.number + 1
	if _, err := e.store.WriteClaim(t.Context(), c.ticket, by, e.store.Finish(c.flow, "done"), ""); err != nil {
		t.Fatal(err)
	}
	e.noteUnanswered(c, store.ErrUnavailable)
	got := make(chan error, 1)
	go func() { _, err := e.Finish(t.Context(), k.ID, agent, "done"); got <- err }()
	eventually(t, "the second waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ending > 0
	})
	e.conclude(c, ReasonExpired)
	c.writes.Leave()
	if err := <-got; err != nil {
		t.Errorf("again: %v", err)
	}
	told.neverLost(t)
}

// TestG5_AFinishWhoseCallerWentAwayIsNoLoss: it landed, and what it is answered with must still be read.
func TestG5_AFinishWhoseCallerWentAwayIsNoLoss(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { c.Audit = told.add })
	before, _ := claimed(t, e, "x", "t")
	if _, err := step(t, e, before, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(t.Context(), before.ID, agent); err != nil {
		t.Fatal(err)
	}
	k, _ := claimed(t, e, "x", "t")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Finish(gone, k.ID, agent, "done"); err != nil {
		t.Errorf("got %v", err)
	}
	if v, err := e.GetClaim(k.ID, agent); err != nil || v.Reason != ReasonReleased {
		t.Errorf("the claim is %+v, %v", v, err)
	}
	told.neverLost(t)
}

// TestG5_ARefusedLastStepIsNotToldAsDone: the claim was finished after another step. Who serves the call tells of the refusal.
func TestG5_ARefusedLastStepIsNotToldAsDone(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { c.Audit = told.add })
	k, _ := claimed(t, e, "x", "t")
	if _, err := e.Step(t.Context(), k.ID, agent, StepRequest{Step: "online", State: store.AssetOffline}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(t.Context(), k.ID, agent, "done"); err != nil {
		t.Fatal(err)
	}
	_, err := e.Step(t.Context(), k.ID, agent, StepRequest{Step: "assess", State: store.Finished, Finish: true})
	wantLost(t, err, ReasonReleased)
	if slices.ContainsFunc(told.all(), func(a audit.Event) bool { return a.Kind == audit.Replayed }) {
		t.Errorf("the audit says that it was answered as before: %q", told.moves())
	}
}

// TestG5_AReleaseIsNotDoneOfWhatAnAdministratorTook: on another host, while its request is held up.
func TestG5_AReleaseIsNotDoneOfWhatAnAdministratorTook(t *testing.T) {
	t.Parallel()
	a, b, _, k, answer := heldUp(t)
	if err := b.Break(t.Context(), "x", "root", "it hangs"); err != nil {
		t.Fatal(err)
	}
	wantLost(t, answer(), ReasonForced)
	wantLost(t, a.Release(t.Context(), k.ID, agent), ReasonForced)
}

// TestG8_ALossOnANotifiedTicketIsNoEndOfTheAgents: what finishes the ticket then is not its call, though one may have got no answer.
func TestG8_ALossOnANotifiedTicketIsNoEndOfTheAgents(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	told := &auditLog{}
	e := f.host("host-a", func(c *Config) { c.Audit = told.add })
	k, _ := claimed(t, e, "x", "t")
	notified(t, e, k, "ops")
	deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	e.noteUnanswered(c, store.ErrUnavailable)
	if err := e.Break(t.Context(), "x", "root", "it hangs"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is told as lost", func() bool {
		return slices.ContainsFunc(told.all(), func(a audit.Event) bool { return a.Kind == audit.Lost && a.Reason == string(ReasonForced) })
	})
	wantLost(t, e.Release(t.Context(), k.ID, agent), ReasonForced)
}
