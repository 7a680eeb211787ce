// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

const (
	busyMost    = 60.0             // MB
	calm        = 12 * time.Second // within which a daemon that is idle again has given memory back
	ticketMost  = 1229             // bytes beside the facts, 1.2 KiB
	listingMost = 10 * time.Millisecond
)

// busy is P15, and with the tickets that come of it P13 and P17.
func (h *host) busy(ctx context.Context) []row {
	daemon, socket := h.startAnother(ctx, "busy", "")
	pid := daemon.Process.Pid
	pause(ctx, settle)
	idle := resident(pid)
	crew := make([]*client.Client, manyAgents)
	for i := range crew {
		crew[i] = client.New(socket)
		defer crew[i].CloseIdleConnections()
	}
	check(workOff(ctx, crew, h.busyAssets))
	pause(ctx, calm)
	after := resident(pid)
	store := redis.NewClient(redisOptions(h.redisAddr))
	defer store.Close()
	var trips []time.Duration
	check(timed(&trips, listings, func() error { return store.Ping(ctx).Err() }))
	page, found := listFailed(ctx, socket)
	trip, whole := median(trips), min(h.busyAssets/failedEvery, failedPage)
	asset := newAsset()
	check(sequence(ctx, crew[0], asset, task))
	bytes, facts := ticketBytes(ctx, store, asset), 0
	for _, s := range steps {
		facts += len(s.Facts)
	}
	check(end(daemon))
	return []row{
		{
			"P13", "Redis memory of all keys of a finished ticket; floor: its recorded facts, once",
			fmt.Sprintf("%d B", bytes), fmt.Sprintf("%d B", facts), times(float64(bytes) / float64(facts)), "≤ + 1.2 KiB", bytes-int64(facts) <= ticketMost,
		},
		{
			"P15", fmt.Sprintf("daemon after %d assets at full speed, resident memory; floor: the same, idle", h.busyAssets),
			megabytes(after), megabytes(idle), times(after / idle), "≤ 60 MB", after <= busyMost,
		},
		{
			"P17", fmt.Sprintf("list %d of %d failed among %d tickets; floor: one round trip", found, whole, h.busyAssets),
			milliseconds(page), milliseconds(trip), times(page.Seconds() / trip.Seconds()), "≤ 10 ms", page <= listingMost && found == whole,
		},
	}
}

// workOff takes so many assets from claim to finish, as fast as it goes, and some to FAILED.
func workOff(ctx context.Context, crew []*client.Client, assets int) error {
	var next atomic.Int64
	work := make([]func() error, len(crew))
	for i, c := range crew {
		work[i] = func() error {
			for n := next.Add(1); n <= int64(assets); n = next.Add(1) {
				do := sequence
				if n%failedEvery == 0 {
					do = failing
				}
				if err := do(ctx, c, newAsset(), task); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return together(work)
}

// ticketBytes is what Redis needs for all keys of an asset.
func ticketBytes(ctx context.Context, c *redis.Client, asset string) (bytes int64) {
	for _, key := range must(c.Keys(ctx, "picket:{"+asset+"}:*").Result()) {
		bytes += must(c.MemoryUsage(ctx, key, 0).Result())
	}
	return bytes
}
