// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// The defaults of Config.
const (
	DefaultRetryFirst = time.Second
	DefaultRetryMax   = 5 * time.Minute
	DefaultGiveUp     = 24 * time.Hour
)

// sayAgain is how often a trouble that goes on is logged: what strikes thousands of intents at once is said once, and again after it.
const sayAgain = time.Minute

// errorPause is the pause after the outbox could not be read.
const errorPause = time.Second

// Config is what New needs.
type Config struct {
	Outbox   *outbox.Store
	Channels []channel.Config
	Files    channel.Files // what channels name; may be nil where none does

	// Attempt and Outcome are the two questions to the engine: may this go out now, and this became of it.
	Attempt func(context.Context, outbox.Attempt) (outbox.Answer, error)
	// Outcome reports closed when the ticket needs nothing more from this intent.
	Outcome func(context.Context, outbox.Outcome) (closed bool, err error)

	RetryFirst time.Duration // Defaults to 1 s
	RetryMax   time.Duration // Defaults to 5 min
	GiveUp     time.Duration // Defaults to 24 h

	Boottime func() time.Duration // CLOCK_BOOTTIME, which leases are counted on, and GiveUp of what this boot staged
	Boot     string               // this boot's id. Without one GiveUp goes by the wall clock

	Version  string       // for User-Agent. Defaults to dev
	Output   io.Writer    // where channels of type log write their line. Defaults to Logger
	Logger   *slog.Logger // Defaults to none
	Registry prometheus.Registerer
}

// box is what is used of outbox.Store, so that a test can make it fail.
type box interface {
	Due(now time.Time, limit int) (due []outbox.Due, next time.Time, err error)
	Newest(now time.Time, limit int) ([]outbox.Due, error)
	Heads(refs []outbox.Ref) ([]outbox.Intent, error)
	Changed() <-chan struct{}
	Stats() outbox.Stats
	Get(outbox.Ref) (outbox.Intent, error)
	Receipt(ticket string, run int64, channel string) (outbox.Receipt, bool, error)
	Attempted(ref outbox.Ref, run int64, channel, retried string) (bool, error)
	Begin(ref outbox.Ref, channel string, number int) error
	Took(ref outbox.Ref, channel string, all []string) error
	Record(o outbox.Outcome, due time.Time, recorded bool) error
	Keep(o outbox.Outcome) error
	Recorded(ref outbox.Ref, channel string) error
	Postpone(ref outbox.Ref, channel string, due time.Time) error
	Shut(ref outbox.Ref, recorded ...string) error
}

// Notifier sends what the outbox has ready.
type Notifier struct {
	Config
	box     box
	gates   map[string]*gate // by channel
	metrics *metrics
	said    again.Reminder
	closing [64]sync.Mutex // by intent: whether a channel is the last one is decided by one at a time

	mu    sync.Mutex // guards what follows, and the lanes' fields
	begun bool
	ended bool
	lanes map[string]*lane // by channel; under "" the one of the channels that are not configured
	known map[key]struct{} // what waits in a lane or is being looked at
	memos map[key]memo
	under map[errand]struct{} // looked at by one job at a time
	wake  time.Time           // when to look into the outbox next; zero: unknown

	sooner  chan struct{}   // signalled (capacity 1) when wake came nearer
	quit    context.Context // ended by Stop: no new attempt
	end     context.CancelFunc
	done    chan struct{} // closed when the loop and all its workers have ended
	workers sync.WaitGroup
	ctx     context.Context // of what is in flight; cancelled when Stop's time is up
	cut     context.CancelCauseFunc
}

func (n *Notifier) stopping() bool { return n.quit.Err() != nil }

// warn logs a trouble; what must be one of a few constant sentences.
func (n *Notifier) warn(level slog.Level, what string, attrs ...slog.Attr) {
	if n.said.Due(what, "") {
		n.Logger.LogAttrs(context.Background(), level, what, attrs...)
	}
}

// begin has one job at a time go about an errand.
func (n *Notifier) begin(e errand) (end func(), ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.under[e]; taken {
		return nil, false
	}
	n.under[e] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.under, e)
	}, true
}

func (n *Notifier) forget(k key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.memos, k)
}

// serve notes whose turn it is in a channel's lane.
func (n *Notifier) serve(channel string, r rank) {
	n.mu.Lock()
	defer n.mu.Unlock()
	served := n.lanes[channel].turns.served
	served[r.severity] = max(served[r.severity], r.turn)
}

const (
	persistFirst = 500 * time.Millisecond
	persistMax   = 15 * time.Second
)

// persist writes to the outbox, again and again until it succeeds or the notifier stops. Meanwhile the caller's place in its
// lane is taken, so that nothing is sent over and over that cannot be recorded. outbox.ErrNotFound is returned at once.
func (n *Notifier) persist(write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || errors.Is(err, outbox.ErrNotFound) {
			return err
		}
		n.warn(slog.LevelError, "cannot write to the outbox; what was sent may be sent again after a restart", slog.Any("error", err))
		if n.stopping() {
			return err
		}
		n.sleep(again.Backoff(try, persistFirst, persistMax))
	}
}

// sleep returns early when the notifier stops.
func (n *Notifier) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-n.quit.Done():
	case <-t.C:
	}
}

// wakeAt makes the loop look into the outbox at t, if it would not earlier.
func (n *Notifier) wakeAt(t time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wakeAtLocked(t)
}

func (n *Notifier) wakeAtLocked(t time.Time) {
	if !n.wake.IsZero() && !t.Before(n.wake) {
		return
	}
	n.wake = t
	select {
	case n.sooner <- struct{}{}:
	default:
	}
}

// spread is wait, and by chance so much more that all that is ready is looked at some twenty times a second, however much it
// is.
func (n *Notifier) spread(wait time.Duration) time.Duration {
	most := min(time.Duration(n.box.Stats().Ready)*50*time.Millisecond, n.RetryMax)
	return wait + rand.N(most+time.Millisecond)
}
