// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestThoseWhoLookAtOnceAskRedisOnce, and not again for some seconds; after an outage, or while a server is away, each asks anew.
func TestThoseWhoLookAtOnceAskRedisOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kept keptFacts
		asked, whole := 0, true
		look := func(want int) {
			t.Helper()
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					got := kept.get(func() (client.RedisStatus, bool) {
						asked++
						return client.RedisStatus{Masters: asked}, whole
					})
					if whole && got.Masters != want {
						t.Errorf("answer %d is told, want %d", got.Masters, want)
					}
				})
			}
			all.Wait()
		}
		look(1)
		time.Sleep(factsLife - time.Second)
		look(1)
		time.Sleep(2 * time.Second)
		look(2)
		kept.forget()
		look(3)
		time.Sleep(factsLife)
		whole = false
		look(0)
		if asked != 3+10 {
			t.Errorf("Redis was asked %d times: while a server is away each asks", asked)
		}
	})
}

// TestAStatusThatIsKeptHidesNoOutage: as soon as Redis is silent, it is shown so; what was heard before is not told any more, then or after.
func TestAStatusThatIsKeptHidesNoOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := setup(t, func(c *Config) { c.Redis.Addrs = []string{server.Addr()} })
	h.start(t)
	eventually(t, "Redis is shown", func() bool { return len(h.Status().Redis.Servers) == 1 })
	server.Freeze()
	if s := h.Status(); s.Checks[0].OK || len(s.Redis.Servers) != 0 {
		t.Errorf("while it is silent the status has %+v, %+v", s.Checks[0], s.Redis)
	}
	server.Thaw()
	if err := server.Client().ConfigSet(t.Context(), "maxmemory", "12345678").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is shown as it is now", func() bool {
		of := h.Status().Redis.Servers
		return len(of) == 1 && of[0].MemoryMost == 12345678
	})
}
