// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	signScript  = newScript("sign")
	leaveScript = newScript("leave")
)

// Daemon is a daemon of the fleet.
type Daemon struct {
	ID       string // its outbox's
	Run      string // this run of it
	Host     string // a label for people
	Channels string // names and types of those that it has; those who have the same can deliver the same
}

// Offered is the owner of tickets whose owner lives and cannot deliver all of them. It is looked after like a daemon that is gone.
const Offered = "offered"

// Sign is a daemon's sign of life.
type Sign struct {
	Daemon
	PID    int
	Life   time.Duration
	Row    string   // what it tells of itself, an About as JSON, or "" if it told that last
	At     string   // when this run last signed, ms of Redis' clock, or ""
	Former []string // runs of this daemon before this one
	Over   Signed   // another's sign that is not renewed any more, or zero

	// The question which others were silent for Late: Most of them are asked for, and no other daemon with the same channels is told of
	// the same ones for a Turn.
	Late time.Duration
	Most int
	Turn time.Duration
}

// Signed is a sign as it stands in Redis.
type Signed struct {
	Run, At   string
	Host, PID string
}

// Silent is a daemon that gave no sign of life for too long.
type Silent struct{ ID, At string } // At: its last, ms of Redis' clock

// Answer is what a sign of life is answered.
type Answer struct {
	At      string   // when it was given, ms of Redis' clock
	Kept    bool     // the last one was there as it was left, and had not run out
	Overdue []Silent // of those that were asked for
}

// Sign gives a sign of life. rival is another run's sign, which may be alive; then it stands. Errors: ErrUnavailable, as of all that is
// about daemons.
func (s *Store) Sign(ctx context.Context, g Sign) (a Answer, rival *Signed, err error) {
	over := ""
	if g.Over.Run != "" {
		over = g.Over.Run + " " + g.Over.At
	}
	v, err := signScript.Run(ctx, s.c.Redis, []string{s.Keys.Signs(), s.Keys.Left(), s.Keys.turns(), s.Keys.Host(g.ID)},
		g.ID, g.Run, g.Host, g.PID, g.Row, g.At, set(g.Former), over, g.Channels,
		g.Life.Milliseconds(), g.Late.Milliseconds(), g.Most, g.Turn.Milliseconds()).Slice()
	if err != nil {
		return a, nil, Unavailable(err)
	}
	n, _ := v[0].(int64)
	text := textsOf(v)
	if n == 2 {
		return a, &Signed{At: text[1], Run: text[2], Host: text[3], PID: text[4]}, nil
	}
	return Answer{At: text[1], Kept: n == 1, Overdue: silents(v[2])}, nil, nil
}

// silents reads members and scores in turn.
func silents(v any) (all []Silent) {
	list, _ := v.([]any)
	text := textsOf(list)
	for i := 0; i+1 < len(text); i += 2 {
		all = append(all, Silent{text[i], text[i+1]})
	}
	return all
}

// Know has a daemon watched that answers for something, and is known no more: from the next look on it gets the time to sign. What is
// offered is looked for at once.
func (s *Store) Know(ctx context.Context, daemon string) error {
	z := redis.Z{Member: daemon}
	if daemon == Offered {
		z.Score = 1
	}
	return unavailableOrNil(s.c.Redis.ZAddNX(ctx, s.Keys.Signs(), z).Err())
}

// Rest undoes Know for a daemon that answers for nothing, unless it signed meanwhile. It is remembered for a while.
func (s *Store) Rest(ctx context.Context, gone Silent) (bool, error) { return s.leave(ctx, gone, true) }

// Forget is Rest, and leaves nothing of it.
func (s *Store) Forget(ctx context.Context, gone Silent) (bool, error) {
	return s.leave(ctx, gone, false)
}

func (s *Store) leave(ctx context.Context, gone Silent, quiet bool) (bool, error) {
	keys := []string{s.Keys.Signs(), s.Keys.Left(), s.Keys.Host(gone.ID)}
	n, err := leaveScript.Run(ctx, s.c.Redis, keys, gone.ID, gone.At, quiet).Int()
	return n == 1, unavailableOrNil(err)
}
