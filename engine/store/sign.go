// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var signScript = newScript("sign")

// Daemon is a daemon of the fleet.
type Daemon struct {
	ID   string // its outbox's
	Run  string // this run of it
	Host string // a label for people
}

// Sign is a daemon's sign of life.
type Sign struct {
	Daemon
	PID    int
	Life   time.Duration
	At     string   // when this run last signed, ms of Redis' clock, or ""
	Former []string // runs of this daemon before this one
	Over   Signed   // another's sign that is not renewed any more, or zero
}

// Signed is a sign as it stands in Redis.
type Signed struct {
	Run, At   string
	Host, PID string
}

// Sign gives a sign of life. kept: it was there and had not run out. rival is another run's sign, which may be alive; then it stands.
func (s *Store) Sign(ctx context.Context, g Sign) (at string, kept bool, rival *Signed, err error) {
	if err := s.KnowDaemon(ctx, g.ID); err != nil {
		return "", false, nil, err
	}
	over := ""
	if g.Over.Run != "" {
		over = g.Over.Run + " " + g.Over.At
	}
	v, err := signScript.Run(ctx, s.c.Redis, []string{s.Keys.Host(g.ID)}, g.Run, g.Host, g.Life.Milliseconds(), g.PID, g.At, set(g.Former), over).Slice()
	if err != nil {
		return "", false, nil, Unavailable(err)
	}
	n, _ := v[0].(int64)
	text := textsOf(v)
	if n == 2 {
		return "", false, &Signed{At: text[1], Run: text[2], Host: text[3], PID: text[4]}, nil
	}
	return text[1], n == 1, nil, nil
}

// Daemons are the identities of those that there are. Errors: ErrUnavailable.
func (s *Store) Daemons(ctx context.Context) ([]string, error) {
	ids, err := s.c.Redis.SMembers(ctx, s.Keys.Hosts()).Result()
	return ids, unavailableOrNil(err)
}

// KnowDaemon notes that there is a daemon, and ForgetDaemon that it answers for nothing. It signs again if it comes back.
func (s *Store) KnowDaemon(ctx context.Context, daemon string) error {
	return unavailableOrNil(s.c.Redis.SAdd(ctx, s.Keys.Hosts(), daemon).Err())
}

// ForgetDaemon undoes KnowDaemon.
func (s *Store) ForgetDaemon(ctx context.Context, daemon string) error {
	return unavailableOrNil(s.c.Redis.SRem(ctx, s.Keys.Hosts(), daemon).Err())
}

// Signs reports whether a daemon's sign of life is there.
func (s *Store) Signs(ctx context.Context, daemon string) (bool, error) {
	n, err := s.c.Redis.Exists(ctx, s.Keys.Host(daemon)).Result()
	return n > 0, unavailableOrNil(err)
}

// Member is another daemon of the fleet.
type Member struct {
	ID    string
	Host  string // its label; empty when it gives no sign of life
	Lives bool
}

// Fleet are the daemons that there are beside one. Errors: ErrUnavailable.
func (s *Store) Fleet(ctx context.Context, beside string) ([]Member, error) {
	ids, err := s.Daemons(ctx)
	if err != nil {
		return nil, err
	}
	members, labels := []Member{}, []*redis.StringCmd{}
	pipe := s.c.Redis.Pipeline()
	for _, id := range ids {
		if id != beside {
			members, labels = append(members, Member{ID: id}), append(labels, pipe.HGet(ctx, s.Keys.Host(id), "label"))
		}
	}
	if len(members) == 0 {
		return members, nil
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, Unavailable(err)
	}
	for i, label := range labels {
		members[i].Host, members[i].Lives = label.Val(), label.Err() == nil
	}
	return members, nil
}
