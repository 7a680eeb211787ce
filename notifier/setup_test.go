// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a notifier on a real outbox, before a ticket and senders that do as a test says.
type world struct {
	*Notifier
	t     *testing.T
	store *outbox.Store
	config

	mu       sync.Mutex
	verdict  func(outbox.Attempt) (outbox.Answer, error)
	answer   func(outbox.Outcome) (closed bool, err error)
	attempts []outbox.Attempt
	outcomes []outbox.Outcome
	sends    []send
}

// send is what a fake sender was given.
type send struct {
	channel string
	channel.Delivery
	at time.Time
}

type config = Config

// setup makes a world with the channels, all of type log, whose sender answers by result. Nothing is started.
func setup(t *testing.T, result func(ctx context.Context, s send) channel.Result, channels ...channel.Config) *world {
	t.Helper()
	store, err := outbox.Open(filepath.Join(t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return setupOn(t, store, result, channels...)
}

func setupOn(t *testing.T, store *outbox.Store, result func(ctx context.Context, s send) channel.Result, channels ...channel.Config) *world {
	t.Helper()
	w := &world{t: t, store: store}
	w.verdict = func(outbox.Attempt) (outbox.Answer, error) { return outbox.Answer{Verdict: outbox.Go}, nil }
	w.answer = func(outbox.Outcome) (bool, error) { return false, nil }
	began := time.Now()
	w.config = Config{
		Outbox: store, Channels: channels, Attempt: w.Attempt, Outcome: w.Outcome, Output: io.Discard,
		RetryFirst: time.Second, RetryMax: time.Minute, GiveUp: time.Hour,
		Boottime: func() time.Duration { return time.Since(began) },
	}
	for i := range w.config.Channels {
		if w.config.Channels[i].Type == "" {
			w.config.Channels[i].Type = "log"
		}
	}
	n, err := New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.Notifier = n
	if result != nil {
		for name, g := range n.gates {
			g.Sender = fakeSender{g.Sender, w, name, result}
		}
	}
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		w.t.Errorf("cannot stop: %v", err)
	}
}

func (w *world) Attempt(_ context.Context, a outbox.Attempt) (outbox.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts = append(w.attempts, a)
	return w.verdict(a)
}

func (w *world) Outcome(_ context.Context, o outbox.Outcome) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	closed, err := w.answer(o)
	if err == nil {
		w.outcomes = append(w.outcomes, o)
	}
	return closed, err
}

// ask sets what the ticket answers to an attempt.
func (w *world) ask(f func(outbox.Attempt) (outbox.Answer, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdict = f
}

func (w *world) says(a outbox.Answer, err error) {
	w.ask(func(outbox.Attempt) (outbox.Answer, error) { return a, err })
}

func (w *world) tells(f func(outbox.Outcome) (bool, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

func (w *world) sent() []send {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sends)
}

func (w *world) asked() []outbox.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.attempts)
}

func (w *world) told() []outbox.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.outcomes)
}

type fakeSender struct {
	channel.Sender // which renders

	w      *world
	name   string
	result func(context.Context, send) channel.Result
}

func (f fakeSender) Send(ctx context.Context, d channel.Delivery) channel.Result {
	s := send{f.name, d, time.Now()}
	f.w.mu.Lock()
	f.w.sends = append(f.w.sends, s)
	f.w.mu.Unlock()
	return f.result(ctx, s)
}

func always(r channel.Result) func(context.Context, send) channel.Result {
	return func(context.Context, send) channel.Result { return r }
}

var sentResult = channel.Result{Status: outbox.Sent}

// put makes a committed intent ready on the channels, and returns its Ref.
func (w *world) put(id string, channels ...string) outbox.Ref {
	w.t.Helper()
	return w.putAs(outbox.Committed, id, channels...)
}

// putAll makes an intent ready for each id, the writes sharing their fsync.
func (w *world) putAll(ids []string, channels ...string) {
	w.t.Helper()
	var g errgroup.Group
	g.SetLimit(64)
	for _, id := range ids {
		g.Go(func() error { return w.write(outbox.Committed, id, channels...) })
	}
	if err := g.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) putAs(origin outbox.Origin, id string, channels ...string) outbox.Ref {
	w.t.Helper()
	if err := w.write(origin, id, channels...); err != nil {
		w.t.Fatal(err)
	}
	return refOf(id)
}

func refOf(id string) outbox.Ref { return outbox.Ref{Ticket: "web-01/" + id, ID: id} }

// putAged makes an intent ready on ops that is staged now in that boot, and so old by the wall clock.
func (w *world) putAged(origin outbox.Origin, id string, age time.Duration, boot string) {
	w.t.Helper()
	in := outbox.Intent{At: time.Now().Add(-age), Boot: boot, Clock: w.Boottime()}
	if err := w.writeAs(origin, in, id, "ops"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(origin outbox.Origin, id string, channels ...string) error {
	return w.writeAs(origin, outbox.Intent{At: time.Now()}, id, channels...)
}

func (w *world) writeAs(origin outbox.Origin, as outbox.Intent, id string, channels ...string) error {
	in := outbox.Intent{
		Ref: refOf(id), Asset: "web-01", Task: id, Run: 1, Key: "web-01/" + id,
		At: as.At, Boot: as.Boot, Clock: as.Clock, Severity: "high", Content: []byte(`{}`), Channels: map[string]outbox.Delivery{},
	}
	for _, name := range channels {
		d := outbox.Delivery{Type: "log", Status: outbox.Pending, Body: []byte("body of " + id), Due: time.Now()}
		for _, c := range w.config.Channels {
			if c.Name == name {
				d.AtMostOnce, d.Type = c.AtMostOnce, c.Type
			}
		}
		in.Channels[name] = d
	}
	if origin == outbox.Adopted {
		return w.store.Adopt(in)
	}
	if err := w.store.Stage(in); err != nil {
		return err
	}
	return w.store.Commit(in.Ref)
}

func (w *world) get(ref outbox.Ref) outbox.Intent {
	w.t.Helper()
	in, err := w.store.Get(ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// shutWith checks that the channels stand as given, and that the intent is closed, or open with its content if one is parked.
func (w *world) shutWith(ref outbox.Ref, want map[string]outbox.Status) {
	w.t.Helper()
	in := w.get(ref)
	got, parked, kept := map[string]outbox.Status{}, false, len(in.Content) > 0
	for name, d := range in.Channels {
		got[name] = d.Status
		parked = parked || want[name] == outbox.Parked
		kept = kept && len(d.Body) > 0
	}
	if parked == (in.Origin == outbox.Closed) || parked != kept || !maps.Equal(got, want) {
		w.t.Errorf("the intent is %s with %v, want %v, its content is there: %v", in.Origin, got, want, kept)
	}
	eventually(w.t, "nothing is ready", func() bool { return w.store.Stats().Ready == 0 })
	if due, next, err := w.store.Due(time.Now().Add(1000*time.Hour), 10); err != nil || len(due) > 0 || !next.IsZero() {
		w.t.Errorf("still due: %v, %v, %v", due, next, err)
	}
}

// untilShut waits in real time until the intent is closed, or waits for a person.
func (w *world) untilShut(ref outbox.Ref) {
	w.t.Helper()
	eventually(w.t, "shut", func() bool {
		in := w.get(ref)
		for _, d := range in.Channels {
			if d.Status == outbox.Sent && !d.Recorded {
				return false
			}
			if d.Status == outbox.Parked && d.Recorded {
				return true
			}
		}
		return in.Origin == outbox.Closed
	})
}

// eventually waits in real time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

var errStore = errors.New("the store refused")

func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%04d", prefix, i))
	}
	return all
}
