// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/audit"
)

// Watch is told what can show that Redis went back to an older state. lookout has it.
type Watch interface {
	Token(Asset) int64                   // the newest token of an asset that is known, or 0
	Found(a Asset, known, token int64)   // an asset's newest token, and what was known before Redis was asked
	Wrote(ticket string, revision int64) // a ticket was written, under this key
	Stores() map[string]string           // the incarnation of each master's data, by key; none before they were read
}

// Config is what New needs.
type Config struct {
	Redis      redis.UniversalClient
	Urgent     redis.UniversalClient // for the ends of claims
	Replicas   Replicas
	Prefix     string        // of all keys
	Host       string        // a label for people
	Keep       time.Duration // tickets
	KeepGrants time.Duration
	Watch      Watch
	Audit      func(audit.Event) // is called for each write, and must not block
	Logger     *slog.Logger
	Registry   prometheus.Registerer // nil: metrics are kept and shown nowhere
}

// Store is what Picket has in Redis. All its methods may be called at once, and each that writes may send its script twice, which
// every script bears.
type Store struct {
	Keys Keys
	c    Config

	scripts *pipeline
	ends    *pipeline // for the ends of claims, over the urgent connections
	kept    *pipeline // for what waits for the replicas
	seconds *prometheus.HistogramVec
	lacked  prometheus.Counter
	index   *index
	unread  again.Reminder // a key is no ticket
	behind  again.Reminder // the index is
	bar     bar
	barred  sync.Once       // the bar is before the clients
	waiting context.Context // ends when no call waits for Redis any more
	giveUp  context.CancelFunc
}

// New starts nothing.
func New(c Config) (*Store, error) {
	s := &Store{
		Keys: Keys{c.Prefix}, c: c, scripts: newPipeline(c.Redis, Replicas{}), ends: newPipeline(c.Urgent, Replicas{}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "picket_redis_seconds", Help: "Time that Redis took for a script, retries included.",
			Buckets: []float64{.0001, .0002, .0005, .001, .002, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"script"}),
		lacked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "picket_replicas_missing_total", Help: "Writes that too few replicas had in time.",
		}),
		bar: bar{keys: Keys{c.Prefix}}, index: newIndex(), unread: again.Reminder{Every: time.Hour}, behind: again.Reminder{Every: time.Hour},
	}
	s.kept = s.scripts
	if c.Replicas.Number > 0 {
		s.kept = newPipeline(c.Replicas.Redis, c.Replicas)
	}
	s.waiting, s.giveUp = context.WithCancel(context.Background())
	if c.Registry != nil {
		return s, errors.Join(c.Registry.Register(s.seconds), c.Registry.Register(s.lacked))
	}
	return s, nil
}

// GiveUp has calls that wait for an answer of Redis end with ErrUnavailable as soon as the client returns.
func (s *Store) GiveUp() { s.giveUp() }

// Wait returns when no script is under way.
func (s *Store) Wait() {
	s.scripts.wait()
	s.ends.wait()
	s.kept.wait()
}

// Ping asks for a sign of life. Errors: ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error { return unavailableOrNil(s.c.Redis.Ping(ctx).Err()) }

func unavailableOrNil(err error) error {
	if err == nil {
		return nil
	}
	return Unavailable(err)
}

// Writer is who writes: a claim, an administrator, or a part of the daemon, which have an agent alone.
type Writer struct {
	Token  int64
	Nonce  string
	Agent  string // pid/uid
	Number int64  // of the write: those of one claim grow
}

// RetryPause is the pause before Redis is asked again.
const RetryPause = 50 * time.Millisecond

// run runs a script, again and again while Redis does not answer, until the context ends. refused is what is recorded when a write is
// refused, or empty; more are the script's own arguments.
//
// Errors: ErrUnavailable, or the context's cause when it was cancelled (not when its time ran out); with a reply a *lackingError.
func (s *Store) run(ctx context.Context, sc script, id TicketID, by Writer, refused string, more ...any) (reply, error) {
	start := time.Now()
	defer func() { s.seconds.WithLabelValues(sc.name).Observe(time.Since(start).Seconds()) }()
	keys := s.Keys.all(id)
	args := s.args(id, by, refused, more...)
	through := s.scripts
	switch {
	case sc.name == releaseScript.name: // the ends of claims wait for no other call
		through = s.ends
	case sc.kept:
		through = s.kept
	}
	var v []any
	err := s.again(ctx, func() (err error) {
		v, err = through.run(ctx, sc, keys, args)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, ErrReplicasMissing):
		return reply{}, err
	case len(v) == 0:
		return reply{}, fmt.Errorf("%w: script %s answered nothing", ErrUnavailable, sc.name)
	}
	n, _ := v[0].(int64)
	return reply{Code(n), v[1:]}, err
}

// again asks Redis again while there is no answer, or one that passes, until the context ends. Errors: as run; of several failures the
// last that Redis answered, so that a node which answers does not count as silent.
func (s *Store) again(ctx context.Context, ask func() error) error {
	var said error
	for {
		err := ask()
		if err == nil || errors.Is(err, ErrReplicasMissing) {
			return err
		}
		if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errSilent) {
			return context.Cause(ctx)
		}
		if !Transient(err) {
			return Unavailable(err)
		}
		if said = Said(said, err); ctx.Err() != nil {
			return Unavailable(said)
		}
		select {
		case <-ctx.Done():
			return Unavailable(said)
		case <-s.waiting.Done():
			return errGivenUp
		case <-time.After(RetryPause):
		}
	}
}

// args are the ARGV of a script as lua/common.lua names them, and its own.
func (s *Store) args(id TicketID, by Writer, refused string, more ...any) []any {
	return append([]any{
		by.Token, by.Nonce, id.String(), id.Task, s.c.Host, by.Agent, s.c.Keep.Milliseconds(), s.Keys.holder(""), id.Asset.Enc(), refused,
	}, more...)
}
