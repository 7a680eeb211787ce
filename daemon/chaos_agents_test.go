// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestG7_ChaosOfAgents kills an agent that claims with many threads, again and again: while its daemon serves, while it stops, and
// while the next run takes the agent's claims up. None of them is held afterwards, and no lock is left.
func TestG7_ChaosOfAgents(t *testing.T) {
	t.Parallel()
	h := newCrashHost(t, "host-a", redistest.Start(t), nil)
	h.config.Lock.TTL = Duration(10 * time.Minute) // nothing runs out here
	h.config.Claims.MaxPerUID = 100_000
	h.start(t, "")
	rounds, ended := 0, time.Now().Add(chaosTime(t, 3*time.Second))
	for ; rounds < 3 || time.Now().Before(ended); rounds++ {
		a := newAgent(t, h)
		a.tell(t, order{Many: fmt.Sprint("many-", rounds)})
		eventually(t, "it has claims", func() bool {
			list, err := h.client.Claims(t.Context())
			return err == nil && len(list.Claims) > 50
		})
		time.Sleep(rand.N(50 * time.Millisecond))
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(rand.N(200 * time.Millisecond))
			a.kill()
		}()
		switch rounds % 3 {
		case 1: // it dies while the daemon stops
			h.stop(t)
			<-killed
			h.start(t, "")
		case 2: // or starts
			h.stop(t)
			h.start(t, "")
		}
		<-killed
		eventually(t, "no claim of the dead agent is held", func() bool {
			list, err := h.client.Claims(t.Context())
			return err == nil && len(list.Claims) == 0
		})
		eventually(t, "no lock is left", func() bool {
			locks, err := h.redis.Keys(t.Context(), lockKey("many-*")).Result()
			return err == nil && len(locks) == 0
		})
	}
	t.Logf("%d agents were killed", rounds)
}
