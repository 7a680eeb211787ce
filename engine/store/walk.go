// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The walk reads so many keys at a time, with a pause that keeps it from being felt.
const (
	walkBatch = 200
	walkPause = 20 * time.Millisecond
)

// BeginWalk reports whether no daemon has begun a walk for as long.
func (s *Store) BeginWalk(ctx context.Context, daemon string, every time.Duration) (bool, error) {
	first, err := s.c.Redis.SetNX(ctx, s.Keys.walk(), daemon, every).Result()
	return first, unavailableOrNil(err)
}

// Walk goes through all tickets on each master, with the fields that tell whether delivery is in order: state, owner and intent. What
// each returns about a ticket, damaged keys too, is its own; it ends with the context or an ErrUnavailable.
func (s *Store) Walk(ctx context.Context, each func(key string, id TicketID, h Hash, err error)) error {
	if cluster, ok := s.c.Redis.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return s.walkNode(ctx, node, each) })
	}
	return s.walkNode(ctx, s.c.Redis, each)
}

func (s *Store) walkNode(ctx context.Context, node redis.Cmdable, each func(string, TicketID, Hash, error)) error {
	pattern := globEscape.Replace(s.Keys.prefix) + ":{*}:ticket:*"
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, walkBatch).Result()
		if err != nil {
			return Unavailable(err)
		}
		for _, key := range keys {
			h, err := s.walked(ctx, key)
			each(key, TicketID{Asset(h["asset"]), h["task"]}, h, err)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
		select {
		case <-time.After(walkPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Store) walked(ctx context.Context, key string) (Hash, error) {
	fields := []string{"asset", "task", "state", "owner", "intent"}
	values, err := s.c.Redis.HMGet(ctx, key, fields...).Result()
	return zip(fields, values), unavailableOrNil(err)
}

var globEscape = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)
