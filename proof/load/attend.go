// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"net/http"
	"time"
)

// attend asks for a claim again and again beside its holder's work, as Picket's own clients do, until stop is called or the claim has ended.
// So there is hardly a moment of which it is not known whether the holder was told to trust it, also while a write of his hangs.
func (w *worker) attend(h *held) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	wait := w.ttl / 4 // short, for how long a claim is trusted counts from when the call was sent
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			r := w.watcher.call(ctx, http.MethodGet, "/v1/claims/"+h.ID+"?wait="+wait.String(), nil, wait)
			w.away.Store(r.status == 0)
			switch {
			case r.Claim != nil && r.Claim.Status != "held", r.status == http.StatusNotFound, r.status == http.StatusConflict:
				return
			case r.status != http.StatusOK: // it may be starting
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		w.away.Store(false)
	}
}

// sit waits while the daemon is away, mostly until it is there again: whoever holds a claim is told then whether he has it still.
func (w *worker) sit() {
	for w.away.Load() && w.chance(98) && w.pause(100*time.Millisecond, 300*time.Millisecond) {
	}
}
