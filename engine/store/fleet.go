// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var fleetScript = newScript("fleet")

// fleetPage is of how many daemons the rows are read at a time.
const fleetPage = 200

// Member is a daemon of the fleet as Redis knows it.
type Member struct {
	Silent
	Host   string        // its label
	Left   bool          // it is gone, and answers for nothing
	Quiet  time.Duration // since its last sign
	Signed time.Time     // that; zero if none is known
}

// Fleet are the daemons that there are, those that left lately too. Errors: ErrUnavailable.
func (s *Store) Fleet(ctx context.Context) ([]Member, error) {
	v, err := fleetScript.Run(ctx, s.c.Redis, []string{s.Keys.Signs(), s.Keys.Left()}).Slice()
	if err != nil {
		return nil, Unavailable(err)
	}
	now := number(textsOf(v[:1])[0])
	members, left := []Member{}, map[string]int64{}
	add := func(m Member, at int64) {
		if at > 0 {
			m.Signed, m.Quiet = time.UnixMilli(at).UTC(), max(0, time.Duration(now-at)*time.Millisecond)
		}
		members = append(members, m)
	}
	for _, one := range silents(v[2]) {
		left[one.ID] = number(one.At)
	}
	for _, one := range silents(v[1]) {
		if one.ID != Offered {
			add(Member{Silent: one}, max(number(one.At), left[one.ID])) // the walk may know it again
		}
		delete(left, one.ID)
	}
	for id, at := range left {
		add(Member{Silent: Silent{id, strconv.FormatInt(at, 10)}, Left: true}, at)
	}
	for page := range slices.Chunk(members, fleetPage) {
		if err := s.rows(ctx, page); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// rows reads what is told of these daemons.
func (s *Store) rows(ctx context.Context, members []Member) error {
	labels := make([]*redis.StringCmd, len(members))
	_, err := s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, m := range members {
			labels[i] = p.HGet(ctx, s.Keys.Host(m.ID), "label")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return Unavailable(err)
	}
	for i, label := range labels {
		members[i].Host = label.Val()
	}
	return nil
}
