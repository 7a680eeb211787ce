// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryIsGivenBackOnceTheBusyTimeIsOver is not parallel: it counts what the whole process collects on demand.
func TestMemoryIsGivenBackOnceTheBusyTimeIsOver(t *testing.T) {
	forced := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		go giveMemoryBack(ctx)
		defer stop()
		look := func(busy bool) (collected bool) {
			for range busyAllocs >> 20 * 2 {
				if busy {
					kept = make([]byte, 1<<20)
				}
			}
			before := forced()
			time.Sleep(memoryLook)
			synctest.Wait()
			return forced() > before
		}
		for i, busy := range []bool{true, false, false, true, true, false, false} {
			if got, want := look(busy), i == 1 || i == 5; got != want {
				t.Errorf("at look %d memory was given back: %t", i, got)
			}
		}
	})
}

var kept []byte
