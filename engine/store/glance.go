// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Asked is a ticket that is asked what it says of the delivery on some channels.
type Asked struct {
	ID       TicketID
	Channels []string
}

// Glance reads state, run, intents and owner of tickets, and the statuses of their channels, in one question. An error, ErrUnavailable,
// is of its ticket alone; the hashes of the others are good.
func (s *Store) Glance(ctx context.Context, asked ...Asked) ([]Hash, []error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	p := s.c.Redis.Pipeline()
	fields, answers := make([][]string, len(asked)), make([]*redis.SliceCmd, len(asked))
	for i, a := range asked {
		fields[i] = []string{"state", "run", "intent", "intents", "owner"}
		for _, channel := range a.Channels {
			fields[i] = append(fields[i], "delivery."+channel)
		}
		answers[i] = p.HMGet(ctx, s.Keys.Ticket(a.ID), fields[i]...)
	}
	_, _ = p.Exec(ctx) // each answer has its own error
	hashes, errs := make([]Hash, len(asked)), make([]error, len(asked))
	for i, a := range answers {
		hashes[i], errs[i] = zip(fields[i], a.Val()), unavailableOrNil(a.Err())
	}
	return hashes, errs
}

// States reads how far tickets are, all in one question; the zero value is of none. One whose key is no hash is as good as none. Errors:
// ErrUnavailable, when any of them was not answered.
func (s *Store) States(ctx context.Context, ids []TicketID) ([]Stand, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	answers := make([]standing, len(ids))
	if err := s.listTogether(ctx, func(p redis.Pipeliner) {
		for i, id := range ids {
			answers[i] = askStanding(ctx, p, s.Keys.Ticket(id))
		}
	}); err != nil {
		return nil, err
	}
	states := make([]Stand, len(ids))
	for i, a := range answers {
		_, states[i] = a.answer()
	}
	return states, nil
}

// Stands is how a ticket stands, in short: whatever is written to it changes that.
func (s *Store) Stands(ctx context.Context, id TicketID) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	v, err := s.c.Redis.HMGet(ctx, s.Keys.Ticket(id), "revision", "updated_at", "state", "intent", "owner").Result()
	return fmt.Sprint(v...), unavailableOrNil(err)
}

// FinishedBy is the nonce of the claim that finished the ticket, or released it in NOTIFYING by a finish; empty: none.
func (s *Store) FinishedBy(ctx context.Context, id TicketID) (string, error) {
	v, err := s.c.Redis.HMGet(ctx, s.Keys.Ticket(id), "finish_claim").Result()
	if err != nil {
		return "", Unavailable(err)
	}
	return textsOf(v)[0], nil
}

// Revision is that of the ticket under a key; 0 when there is none.
func (s *Store) Revision(ctx context.Context, ticket string) (int64, error) {
	v, err := s.c.Redis.HMGet(ctx, ticket, "revision").Result()
	if err != nil {
		return 0, err
	}
	return number(textsOf(v)[0]), nil
}

// zip makes a hash of fields and what HMGET answered; one that is missing is missing.
func zip(fields []string, values []any) Hash {
	h := make(Hash, len(fields))
	for i, v := range values {
		if text, ok := v.(string); ok {
			h[fields[i]] = text
		}
	}
	return h
}
