// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/engine/store"
)

// pollMost is the longest pause of a waiter between two looks at the lock, however long its holder's TTL is. Past pollAssets assets
// that are waited for it grows with their number, so that waiting costs Redis no more than so many looks.
const (
	pollMost   = 500 * time.Millisecond
	pollAssets = 128
)

// queue holds the claim calls that wait for an asset, first come first served on this host; the first of them contends with
// the other hosts. A release is published as a hint; the truth is the poll, bounded by what the holder's lock has left.
//
// Releases of an asset are listened for from its first waiter to its last. Each waiter has looked at the lock before; it is woken when
// the subscription comes into force, and looks again, so no release falls between.
type queue struct {
	waiting prometheus.Gauge
	ear     *store.Ear
	pause   time.Duration // pollMost

	mu      sync.Mutex
	byAsset map[store.Asset][]*turn
}

// turn is one call's place. A nil turn may leave.
type turn struct {
	queue *queue
	asset store.Asset
	first chan struct{} // closes when the turn is the first
	wake  chan struct{} // a release was published, or may have been; capacity 1
}

func newQueue(waiting prometheus.Gauge, ear *store.Ear) *queue {
	return &queue{waiting: waiting, ear: ear, pause: pollMost, byAsset: map[store.Asset][]*turn{}}
}

func (q *queue) join(a store.Asset) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &turn{q, a, make(chan struct{}), make(chan struct{}, 1)}
	if len(q.byAsset[a]) == 0 {
		close(t.first)
		q.ear.Want(a)
	}
	q.byAsset[a] = append(q.byAsset[a], t)
	q.waiting.Inc()
	return t
}

// mayTake reports whether a call may take the asset: if it is the first, or nobody waits.
func (q *queue) mayTake(a store.Asset, t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byAsset[a]) == 0 || q.byAsset[a][0] == t
}

func (t *turn) leave() {
	if t == nil {
		return
	}
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Dec()
	i := slices.Index(q.byAsset[t.asset], t)
	rest := slices.Delete(q.byAsset[t.asset], i, i+1)
	q.byAsset[t.asset] = rest
	switch {
	case len(rest) == 0:
		delete(q.byAsset, t.asset)
		q.ear.Leave(t.asset)
	case i == 0:
		close(rest[0].first)
	}
}

// wait returns when it is worth while to look at the lock: the turn has come, a release was published, the holder's lock would
// have run out, or the poll is due. At until it returns too, for a last look. It returns the context's cause when that ended.
func (t *turn) wait(ctx context.Context, until time.Time, left time.Duration) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-t.first:
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pause := t.queue.poll()
	if left > 0 {
		pause = min(pause, left+time.Millisecond)
	}
	timer.Reset(min(again.Jitter(pause), time.Until(until)))
	select {
	case <-t.wake:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (q *queue) poll() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pause * time.Duration(1+len(q.byAsset)/pollAssets)
}

// notify wakes the first waiter of an asset.
func (q *queue) notify(a store.Asset) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting := q.byAsset[a]; len(waiting) > 0 {
		select {
		case waiting[0].wake <- struct{}{}:
		default:
		}
	}
}
