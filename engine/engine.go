// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/outbox"

	"github.com/picketd/picket/engine/process"
)

// Channel is what the engine knows of a configured channel.
type Channel struct {
	Name        string
	Type        string
	MinSeverity string
	Flows       []string // empty: all
	AtMostOnce  bool
}

// Message is what is rendered for a channel. It has the form of notifier.Message, to which daemon converts it.
type Message struct {
	Key      string
	Ticket   string
	Asset    string
	Task     string
	Run      int64
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage
	At       time.Time
}

// Config is what New needs.
type Config struct {
	Redis  redis.UniversalClient
	Urgent redis.UniversalClient // connections that renewals and the ends of claims share with nothing else. Defaults to Redis
	Outbox *outbox.Store
	Render func(channel string, m Message) ([]byte, error)
	Audit  func(audit.Event) // is called for each write, and must not block. Defaults to nothing
	Gate   func() error      // why Redis may not be used for new claims (its settings), or nil. Defaults to never

	// Weigh has the call that ctx is of hold so many bytes until it is answered, or says why it may not. Defaults to nothing.
	Weigh func(ctx context.Context, bytes int64) error
	// Rest is called when the call that ctx is of begins only to wait, and what it returns when it goes on. Defaults to nothing.
	Rest func(ctx context.Context) (again func() error)

	StateDir     string // where the claims are kept for the daemon's next start. Empty: nowhere
	Host         string // a label for people
	Prefix       string // of all keys. Defaults to picket
	Channels     []Channel
	TTL          time.Duration // of a lock. Defaults to 15 s
	MaxHold      time.Duration // when a claim asks for none. Defaults to 1 h
	MaxHoldLimit time.Duration // Defaults to 24 h
	MaxPerUID    int           // claims. Defaults to 10,000
	Keep         time.Duration // tickets. Defaults to 720 h
	KeepGrants   time.Duration // Defaults to 2160 h

	// Progress is called by the loop that renews, at most once in ProgressEvery and at latest after twice that, as long as the loop
	// goes round and no renewal hangs. Whether Redis answers does not matter. It must not block. Defaults to nothing.
	Progress      func()
	ProgressEvery time.Duration // Defaults to a minute

	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: metrics are kept and shown nowhere
}

func (c *Config) setDefaults() {
	if c.Audit == nil {
		c.Audit = func(audit.Event) {}
	}
	if c.Urgent == nil {
		c.Urgent = c.Redis
	}
	if c.Weigh == nil {
		c.Weigh = func(context.Context, int64) error { return nil }
	}
	if c.Rest == nil {
		c.Rest = func(context.Context) func() error { return func() error { return nil } }
	}
	if c.Gate == nil {
		c.Gate = func() error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Prefix == "" {
		c.Prefix = "picket"
	}
	if c.MaxPerUID == 0 {
		c.MaxPerUID = 10_000
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.TTL, 15 * time.Second},
		{&c.MaxHold, time.Hour},
		{&c.MaxHoldLimit, 24 * time.Hour},
		{&c.Keep, 720 * time.Hour},
		{&c.KeepGrants, 2160 * time.Hour},
		{&c.ProgressEvery, time.Minute},
	} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
}

// Engine holds this host's claims. All its methods may be called at once.
type Engine struct {
	Config
	redis   redis.UniversalClient
	box     *outbox.Store
	locks   *redsync.Redsync
	renewed *redsync.Redsync // locks, over the urgent connections
	scripts *pipeline
	ends    *pipeline // for the ends of claims, over the urgent connections
	keys    keyspace
	runID   string // of this run of the daemon
	boot    string // of this host
	log     *slog.Logger
	metrics *metrics
	now     func() time.Duration // CLOCK_BOOTTIME
	margin  time.Duration

	claims    *registry
	dog       *watchdog
	processes *processes
	queue     *queue
	index     *index
	journal   *journal
	signs     signs
	current   current
	quiet     quiet
	pace      pace
	adopted   chan struct{}
	calls     *calls
	waits     atomic.Int64 // calls that wait for a delivery
	writes    writes
	seen      atomic.Int64 // the highest token that this daemon has seen
	tokens    tokens
	alarms    *alarms
	lookout   *lookout
	damaged   damaged

	queued time.Duration // CLOCK_BOOTTIME since when calls may have waited for this run to serve; set by Start
	served atomic.Int64  // CLOCK_BOOTTIME, in ns, since when it does; 0: it is not known

	draining context.Context // ends with ErrDraining when no new claim is taken
	drain    context.CancelCauseFunc
	waiting  context.Context // ends when no call waits for Redis any more
	giveUp   context.CancelFunc
	life     context.Context // ends when the engine stops
	end      context.CancelFunc
	work     sync.WaitGroup
	start    sync.Once
	stop     sync.Once
}

// New wires and starts nothing.
func New(c Config) (*Engine, error) {
	c.setDefaults()
	m, err := newMetrics(c.Registry)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		Config:  c,
		redis:   c.Redis,
		box:     c.Outbox,
		locks:   redsync.New(goredis.NewPool(c.Redis)),
		renewed: redsync.New(goredis.NewPool(c.Urgent)),
		keys:    keyspace{c.Prefix},
		runID:   rand.Text(),
		boot:    process.BootID(),
		log:     c.Logger,
		metrics: m,
		now:     process.Boottime,
		margin:  max(c.TTL/5, 200*time.Millisecond),
		calls:   newCalls(),
		adopted: make(chan struct{}),
		pace:    defaultPace,
	}
	e.draining, e.drain = context.WithCancelCause(context.Background())
	e.waiting, e.giveUp = context.WithCancel(context.Background())
	e.life, e.end = context.WithCancel(context.Background())
	e.scripts, e.ends = newPipeline(c.Redis), newPipeline(c.Urgent)
	e.claims = newRegistry(m)
	e.dog = newWatchdog(e)
	e.processes = newProcesses(e)
	e.queue = newQueue(e)
	e.index = newIndex(e)
	e.alarms = newAlarms(e.log)
	e.lookout = newLookout(e)
	return e, nil
}

// Start takes up the claims that an earlier run left, and begins to renew, to watch and to settle.
func (e *Engine) Start() {
	e.start.Do(func() {
		records, stamp := e.remember()
		if e.queued = e.now(); e.queued-stamp < recentRun {
			e.queued = stamp
		}
		if len(records) > 0 {
			e.dog.pauseSilence()
		}
		e.spawn(func(ctx context.Context) { e.takeUpAll(ctx, records, stamp) })
		e.spawn(e.dog.loop)
		e.spawn(e.queue.hear)
		e.spawn(e.index.loop)
		e.spawn(e.settleLoop)
		e.spawn(e.heedLoop)
		e.spawn(e.signLoop)
		e.spawn(e.lookLoop)
		e.spawn(e.walkLoop)
		e.spawn(e.lookout.loop)
	})
}

// remember opens the journal. Without one the daemon works too; its claims do not outlive it.
func (e *Engine) remember() (records []record, stamp time.Duration) {
	if e.StateDir == "" {
		return nil, 0
	}
	var err error
	if e.journal, records, stamp, err = openJournal(e.StateDir, e.records); err != nil {
		e.log.Error("claims will not outlive this run of the daemon", "error", err)
	}
	e.claims.await(records)
	return records, stamp
}

// spawn runs a goroutine that Stop waits for; it must end when its context does.
func (e *Engine) spawn(f func(context.Context)) { e.work.Go(func() { f(e.life) }) }

// Serving says that calls are answered from now on. Until then no claim of an earlier run is judged silent.
func (e *Engine) Serving() {
	e.served.Store(int64(e.now()))
	e.dog.resumeSilence()
}

// Drain stops new claims: Claim answers ErrDraining, waiting ones at once. From then on no claim is judged silent.
func (e *Engine) Drain() {
	e.dog.pauseSilence()
	e.drain(ErrDraining)
}

// GiveUp is for a daemon whose time to stop is almost over: calls that wait for an answer of Redis are answered ErrStoreUnavailable
// as soon as the client returns, which who closes it brings about.
func (e *Engine) GiveUp() { e.giveUp() }

// Draining reports whether Drain was called.
func (e *Engine) Draining() bool { return e.draining.Err() != nil }

// Stop ends all goroutines and frees no live lock: it lives on until its TTL or until the daemon starts again. Stop is
// idempotent and needs no Start.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.Drain()
		e.end()
	})
	done := make(chan error, 1)
	go func() {
		e.work.Wait()
		e.scripts.wait()
		e.ends.wait()
		e.processes.close()
		done <- e.journal.close()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ping asks Redis for a sign of life, for readiness.
func (e *Engine) Ping(ctx context.Context) error {
	if err := e.redis.Ping(ctx).Err(); err != nil {
		return unavailable(err)
	}
	return nil
}

// saw remembers an asset's token, and the highest of all, above which the next one is minted (G3).
func (e *Engine) saw(a Asset, token int64) {
	e.tokens.found(a, 0, token)
	for {
		seen := e.seen.Load()
		if token <= seen {
			return
		}
		if e.seen.CompareAndSwap(seen, token) {
			return
		}
	}
}

// args are the ARGV that lua/common.lua names, and what follows them.
func (e *Engine) args(id TicketID, token int64, nonce, agent, refusal string, more ...any) []any {
	return append([]any{
		token, nonce, id.String(), id.Task, e.Host, agent, e.Keep.Milliseconds(), e.Keep.Milliseconds(),
		e.keys.released(), id.Asset.Enc(), refusal,
	}, more...)
}
