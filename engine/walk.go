// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
)

// One daemon of the fleet walks all tickets once an hour, so many at a time, with a pause that keeps it from being felt.
const (
	walkEvery = time.Hour
	walkLook  = 5 * time.Minute // how often each daemon looks whether a walk is due
	walkBatch = 200
	walkPause = 20 * time.Millisecond
)

// walkLoop walks when it is due and no other daemon does.
func (e *Engine) walkLoop(ctx context.Context) {
	ticker := time.NewTicker(walkLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		first, err := e.redis.SetNX(ctx, e.keys.walk(), e.box.ID(), walkEvery).Result()
		if err == nil && first {
			err = e.walk(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("cannot walk all the tickets; it is tried in an hour", "error", err)
		}
	}
}

// walk goes through all tickets on each master: hints that are missing are put back, and what stands in NOTIFIED without a claim
// is finished. It repairs what a failover or an expiry left, where no script runs by itself.
func (e *Engine) walk(ctx context.Context) error {
	if cluster, ok := e.redis.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return e.walkNode(ctx, node) })
	}
	return e.walkNode(ctx, e.redis)
}

func (e *Engine) walkNode(ctx context.Context, node redis.Cmdable) error {
	pattern := globEscape.Replace(e.Prefix) + ":{*}:ticket:*"
	var failed troubles
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, walkBatch).Result()
		if err != nil {
			return unavailable(err)
		}
		for _, key := range keys {
			if err := e.repair(ctx, key); err != nil {
				failed.add(key, err)
			}
		}
		if cursor = next; cursor == 0 {
			return failed.err()
		}
		select {
		case <-time.After(walkPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var globEscape = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)

func (e *Engine) repair(ctx context.Context, key string) error {
	fields, err := e.redis.HMGet(ctx, key, "asset", "task", "state", "owner", "intent").Result()
	if err != nil {
		return unavailable(err)
	}
	text := (reply{rest: []any{fields}}).texts(0)
	id := TicketID{Asset(text[0]), text[1]}
	switch State(text[2]) {
	case Notified:
		_, err := e.commit(ctx, idleScript, id, audit.Event{Kind: audit.Finished, Reason: "no claim was left to finish it"},
			e.args(id, 0, "", "walk", ""))
		return err
	case Notifying:
		owner := text[3]
		if owner == "" { // lost with the newest writes: whoever finds it answers for it
			if _, err := e.own(ctx, id, text[4], "", e.box.ID(), "it had no owner any more"); err != nil {
				return err
			}
			owner = e.box.ID()
		}
		missing := redis.ZAddArgs{NX: true, Members: []redis.Z{{Score: float64(time.Now().UnixMilli()), Member: id.String()}}}
		if err := e.redis.ZAddArgs(ctx, e.keys.undelivered(owner), missing).Err(); err != nil {
			return unavailable(err)
		}
		if owner == offered {
			return nil
		}
		if err := e.redis.SAdd(ctx, e.keys.hosts(), owner).Err(); err != nil {
			return fmt.Errorf("cannot note a daemon: %w", unavailable(err))
		}
	}
	return nil
}
