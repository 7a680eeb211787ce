// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	memoryLook = 5 * time.Second
	busyAllocs = 8 << 20 // bytes; a daemon that allocates less in memoryLook is idle
)

// giveMemoryBack returns to the system what a busy time left of the heap, once that is over. Go's runtime would keep it until the next
// collection, and an idle daemon collects nothing for minutes.
func giveMemoryBack(ctx context.Context) {
	look := time.NewTicker(memoryLook)
	defer look.Stop()
	total := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	busy := false
	for before := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		metrics.Read(total)
		allocated := total[0].Value.Uint64()
		was := busy
		if busy = allocated-before > busyAllocs; was && !busy {
			debug.FreeOSMemory()
		}
		before = allocated
	}
}
