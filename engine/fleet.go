// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Member is another daemon of the fleet.
type Member struct {
	ID    string
	Host  string // its label; empty when it gives no sign of life
	Lives bool
}

// Fleet are the other daemons that Redis knows of. Errors: ErrStoreUnavailable.
func (e *Engine) Fleet(ctx context.Context) ([]Member, error) {
	ids, err := e.redis.SMembers(ctx, e.keys.hosts()).Result()
	if err != nil {
		return nil, unavailable(err)
	}
	members, labels := []Member{}, []*redis.StringCmd{}
	pipe := e.redis.Pipeline()
	for _, id := range ids {
		if id != e.box.ID() {
			members, labels = append(members, Member{ID: id}), append(labels, pipe.HGet(ctx, e.keys.host(id), "label"))
		}
	}
	if len(members) == 0 {
		return members, nil
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unavailable(err)
	}
	for i, label := range labels {
		members[i].Host, members[i].Lives = label.Val(), label.Err() == nil
	}
	return members, nil
}
