// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Engine holds this host's claims. All its methods may be called at once.
type Engine struct {
	config  Config
	store   *store.Store
	lookout *lookout.Lookout
	courier *delivery.Courier
	daemon  *store.Daemon // this one
	locks   *redsync.Redsync
	renewed *redsync.Redsync // locks, over the urgent connections
	log     *slog.Logger
	metrics *metrics
	now     func() time.Duration // CLOCK_BOOTTIME
	trust   trust

	claims    *roster
	dog       *watchdog
	processes *processes
	queue     *queue
	ear       *store.Ear
	journal   *journal
	restored  chan struct{}

	queued time.Duration // CLOCK_BOOTTIME since when calls may have waited for this run to serve; set by Start
	served atomic.Int64  // CLOCK_BOOTTIME, in ns, since when it does; 0: it is not known

	draining context.Context // ends with ErrDraining when no new claim is taken
	drain    context.CancelCauseFunc
	life     context.Context // ends when the engine stops
	end      context.CancelFunc
	work     sync.WaitGroup
	start    sync.Once
	stop     sync.Once
}

// spawn runs a goroutine that Stop waits for; it must end when its context does.
func (e *Engine) spawn(f func(context.Context)) { e.work.Go(func() { f(e.life) }) }

// Draining reports whether Drain was called.
func (e *Engine) Draining() bool { return e.draining.Err() != nil }

// Ping asks Redis for a sign of life, for readiness. Errors: ErrUnavailable, as of what follows.
func (e *Engine) Ping(ctx context.Context) error { return e.store.Ping(ctx) }

// Probe asks each master for a write that changes nothing: see lookout.Probe.
func (e *Engine) Probe(ctx context.Context) error { return e.lookout.Probe(ctx) }

// Enter looks, before Start, whether Redis may be used at all: see lookout.Enter.
func (e *Engine) Enter(ctx context.Context) error { return e.lookout.Enter(ctx) }

// Layout looks whether what stands in Redis is of this version: see lookout.Layout.
func (e *Engine) Layout(ctx context.Context) error { return e.lookout.Layout(ctx) }

// ClockOffset is how far Redis' clock is ahead of this host's: see lookout.ClockOffset.
func (e *Engine) ClockOffset(ctx context.Context) (time.Duration, error) {
	return e.lookout.ClockOffset(ctx)
}

// Fleet are the daemons that Redis knows of, this one too. Errors: ErrStoreUnavailable.
func (e *Engine) Fleet(ctx context.Context) ([]store.Member, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	members, err := e.store.Fleet(ctx)
	for i, m := range members {
		members[i].Lives = !m.Signed.IsZero() && m.Quiet < e.lookout.Pace.Life
	}
	return members, err
}

// Deliverable names this daemon's channels with their types.
func (e *Engine) Deliverable() string { return e.daemon.Channels }

// Alarms are what a person must look at now.
func (e *Engine) Alarms() []lookout.Alarm { return e.lookout.Alarms() }

// Identity is an outbox.ErrUnavailable while another process is seen to have this daemon's identity.
func (e *Engine) Identity() error { return e.lookout.Identity() }

// Attempt decides whether the notifier may send now: see delivery.Attempt.
func (e *Engine) Attempt(ctx context.Context, a outbox.Attempt) (outbox.Answer, error) {
	return e.courier.Attempt(ctx, a)
}

// Outcome records what became of an attempt: see delivery.Outcome.
func (e *Engine) Outcome(ctx context.Context, o outbox.Outcome) (closed bool, err error) {
	return e.courier.Outcome(ctx, o)
}

// Discard, Settle and Retry are what administrators say about a notification: see delivery.
func (e *Engine) Discard(ctx context.Context, r delivery.Resolution) (store.Ticket, error) {
	return e.courier.Discard(ctx, r)
}

// Settle is for a notification that did arrive.
func (e *Engine) Settle(ctx context.Context, r delivery.Resolution) (store.Ticket, error) {
	return e.courier.Settle(ctx, r)
}

// Retry sends once more.
func (e *Engine) Retry(ctx context.Context, r delivery.Resolution) (store.Ticket, error) {
	return e.courier.Retry(ctx, r)
}
