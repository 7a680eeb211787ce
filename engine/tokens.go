// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"sync"
)

// tokensKept is how many assets of each of two generations are remembered: those that were used last.
const tokensKept = 16_384

// tokens remembers the newest token of each asset that this daemon used lately, so that one which goes back is seen. A failover to
// a replica that lags does that, without an error anywhere.
type tokens struct {
	mu         sync.Mutex
	young, old map[Asset]int64
}

func (t *tokens) of(a Asset) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ofLocked(a)
}

func (t *tokens) ofLocked(a Asset) int64 {
	if token, ok := t.young[a]; ok {
		return token
	}
	return t.old[a]
}

// found takes the token of an asset's newest grant, of which last was known before Redis was asked. It reports whether the grant
// went back; then the older one is what is remembered, as it is the truth now.
func (t *tokens) found(a Asset, last, token int64) (back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.ofLocked(a)
	back = token < last && known == last
	if !back && token <= known {
		return false
	}
	if len(t.young) >= tokensKept || t.young == nil {
		t.young, t.old = make(map[Asset]int64), t.young
	}
	t.young[a] = token
	return back
}

// found compares the asset's grant with the one known before Redis was asked (G3).
func (e *Engine) found(a Asset, last, token int64) {
	if token > 0 && e.tokens.found(a, last, token) {
		e.tokenBack(a, last, fmt.Sprint("token ", token))
	}
}

func (e *Engine) tokenBack(a Asset, last int64, what string) {
	e.metrics.back.Inc()
	e.alarms.happened(AlarmTokenBack, fmt.Sprintf("the grant of %s went back from token %d to %s: Redis fell back to an older state, by a failover to a "+
		"replica that lagged or a restored backup; what was written in between is lost, and writes under the lost grant are refused; compare the "+
		"tickets with what the agents did, and let Redis wait for its replica (min-replicas-to-write)", a, last, what))
}

// highest is the token above which the asset's next one must be (G3).
func (e *Engine) highest(a Asset) int64 { return max(e.seen.Load(), e.tokens.of(a)) }
