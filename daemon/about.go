// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi"
)

// countEvery is between two counts of what waits for a person, for which the outbox is read through.
const countEvery = 5 * time.Minute

// undecided is how many notifications of this outbox wait for a person.
type undecided struct{ parked, dead atomic.Int64 }

// about is what the fleet is told of this daemon.
func (d *Daemon) about() store.About {
	a := store.About{
		Version: Version().Version, Layout: store.Layout, Since: d.startedAt.UTC().Truncate(time.Second), LockTTLMS: time.Duration(d.config.Lock.TTL).Milliseconds(),
		Claims: d.engine.Held(), Pending: d.outbox.Stats().Ready, Parked: int(d.undecided.parked.Load()), Dead: int(d.undecided.dead.Load()),
		Channels: d.engine.Deliverable(), Warnings: []store.Warning{},
	}
	for _, w := range d.Warnings() {
		a.Warnings = append(a.Warnings, store.Warning(w))
	}
	return a
}

// startCounting counts what waits for a person, now and then, until the daemon stops.
func (d *Daemon) startCounting() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(countEvery)
		defer ticker.Stop()
		for {
			for status, n := range map[outbox.Status]*atomic.Int64{outbox.Parked: &d.undecided.parked, outbox.Dead: &d.undecided.dead} {
				if list, err := sockapi.Outstanding(ctx, d.engine, d.outbox, string(status)); err == nil {
					n.Store(int64(len(list)))
				}
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	d.onStop("the count of what waits", func(context.Context) error {
		cancel()
		<-ended
		return nil
	})
}
