// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"time"
)

// moveSlot moves a slot that has keys to another master. For so long it is between both. What an earlier call left is ended instead.
func (t *cluster) moveSlot(ctx context.Context, long time.Duration) error {
	if t.moving != nil {
		return t.endMove(ctx)
	}
	m, err := t.choose(ctx)
	if err != nil {
		return err
	}
	from, to, err := t.ends(ctx, m)
	if err != nil {
		return err
	}
	t.moving = m
	if err := errors.Join(to.set(ctx, m.slot, "IMPORTING", from.id), from.set(ctx, m.slot, "MIGRATING", to.id)); err != nil {
		return err
	}
	time.Sleep(long)
	return t.endMove(ctx)
}

// choose chooses a slot of a key.
func (t *cluster) choose(ctx context.Context) (*move, error) {
	err := errNoMaster
	for first, i := t.draw(clusterShards), 0; i < clusterShards; i++ {
		m := &move{from: (first + i) % clusterShards}
		m.to = (m.from + 1 + t.draw(clusterShards-1)) % clusterShards
		master := t.master(ctx, m.from)
		if master == nil {
			continue
		}
		var key string
		if key, err = master.ask(ctx, "RANDOMKEY").Text(); err == nil {
			m.slot, err = master.ask(ctx, "CLUSTER", "KEYSLOT", key).Int64()
			return m, err
		}
	}
	return nil, err
}

// end is a master that a slot moves from or to.
type end struct {
	node *Node
	id   string
}

func (t *cluster) ends(ctx context.Context, m *move) (from, to end, err error) {
	for _, e := range []struct {
		end   *end
		shard int
	}{{&from, m.from}, {&to, m.to}} {
		if e.end.node = t.master(ctx, e.shard); e.end.node == nil {
			return from, to, errNoMaster
		}
		if e.end.id, err = e.end.node.ask(ctx, "CLUSTER", "MYID").Text(); err != nil {
			return from, to, err
		}
	}
	return from, to, nil
}

func (e end) set(ctx context.Context, slot int64, words ...any) error {
	_, err := e.node.Do(ctx, append([]any{"CLUSTER", "SETSLOT", slot}, words...)...)
	return err
}

// endMove moves the keys that are left, and gives the slot to its new master: to that one first, so that there is always one.
func (t *cluster) endMove(ctx context.Context) error {
	m := t.moving
	if m == nil {
		return nil
	}
	from, to, err := t.ends(ctx, m)
	if err != nil {
		return err
	}
	for {
		keys, err := from.node.ask(ctx, "CLUSTER", "GETKEYSINSLOT", m.slot, 100).StringSlice()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		words := []any{"MIGRATE", to.node.link.ip, redisPort, "", 0, 1000, "REPLACE", "KEYS"}
		for _, k := range keys {
			words = append(words, k)
		}
		if _, err := from.node.Do(ctx, words...); err != nil {
			return err
		}
	}
	if err := errors.Join(to.set(ctx, m.slot, "NODE", to.id), from.set(ctx, m.slot, "NODE", to.id)); err != nil {
		return err
	}
	t.moving = nil
	return nil
}
