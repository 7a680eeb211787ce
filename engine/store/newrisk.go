// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	comparedMost = 500 // tickets at high risk of a task: those written last
	earlierMost  = 8   // tickets of an asset among which the one before is looked for: those written last
)

// NewRisks counts, of the tickets of a task that are at high risk, those written last: how many were compared, and how many of these are
// new, because the ticket of the asset that was assessed last before them was not at high risk, or there is none. Errors: ErrUnavailable.
func (s *Store) NewRisks(ctx context.Context, task string) (fresh, compared int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	risky, err := s.c.Redis.ZRevRange(ctx, s.Keys.Index(task, setHighRisk), 0, comparedMost-1).Result()
	if err != nil {
		return 0, 0, Unavailable(err)
	}
	others := make([]*redis.StringSliceCmd, len(risky))
	if err := s.listTogether(ctx, func(p redis.Pipeliner) {
		for i, asset := range risky {
			others[i] = p.ZRevRange(ctx, s.Keys.Tickets(Asset(asset)), 0, earlierMost)
		}
	}); err != nil {
		return 0, 0, err
	}
	own, before := make([]*redis.SliceCmd, len(risky)), make([][]*redis.SliceCmd, len(risky))
	read := func(p redis.Pipeliner, asset, task string) *redis.SliceCmd {
		return p.HMGet(ctx, s.Keys.Ticket(ID(Asset(asset), task)), "created_at", "high_risk")
	}
	if err := s.listTogether(ctx, func(p redis.Pipeliner) {
		for i, asset := range risky {
			own[i] = read(p, asset, task)
			for _, other := range others[i].Val() {
				if other != task {
					before[i] = append(before[i], read(p, asset, other))
				}
			}
		}
	}); err != nil {
		return 0, 0, err
	}
	for i := range risky {
		is := textsOf(own[i].Val())
		if len(is) != 2 || is[1] != "1" {
			continue // it has moved on since it was indexed
		}
		compared++
		if !wasRisky(millis(is[0]), before[i]) {
			fresh++
		}
	}
	return fresh, compared, nil
}

// wasRisky says whether that one of some tickets was at high risk that was made last before another, and assessed.
func wasRisky(made time.Time, earlier []*redis.SliceCmd) (risky bool) {
	last := time.Time{}
	for _, one := range earlier {
		v := textsOf(one.Val())
		if len(v) != 2 || v[1] == "" {
			continue
		}
		if at := millis(v[0]); at.Before(made) && at.After(last) {
			last, risky = at, v[1] == "1"
		}
	}
	return risky
}
