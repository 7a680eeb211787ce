// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/picketd/picket/engine/store"
)

// tokensKept is how many assets of each of two generations are remembered: those that were used last.
const tokensKept = 16_384

// tokens remembers the newest token of each asset that this daemon used lately, so that one which goes back is seen. A failover to
// a replica that lags does that, without an error anywhere.
type tokens struct {
	mu         sync.Mutex
	young, old map[store.Asset]int64

	highest atomic.Int64 // of all that this daemon has seen
}

func (t *tokens) of(a store.Asset) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ofLocked(a)
}

func (t *tokens) ofLocked(a store.Asset) int64 {
	if token, ok := t.young[a]; ok {
		return token
	}
	return t.old[a]
}

// found takes the token of an asset's newest grant, of which last was known before Redis was asked. It reports whether the grant
// went back; then the older one is what is remembered, as it is the truth now.
func (t *tokens) found(a store.Asset, last, token int64) (back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.ofLocked(a)
	back = token < last && known == last
	if !back && token <= known {
		return false
	}
	if len(t.young) >= tokensKept || t.young == nil {
		t.young, t.old = make(map[store.Asset]int64), t.young
	}
	t.young[a] = token
	return back
}

// Token is the newest token of an asset that is known, or 0.
func (l *Lookout) Token(a store.Asset) int64 { return l.tokens.of(a) }

// Found compares the token of an asset's newest grant with the one known before Redis was asked (G3).
func (l *Lookout) Found(a store.Asset, known, token int64) {
	if l.tokens.found(a, known, token) {
		l.tokenBack(a, known, fmt.Sprint("token ", token))
	}
}

// Missed tells of an asset whose grant is gone: it lives longer than any claim.
func (l *Lookout) Missed(a store.Asset, known int64) { l.tokenBack(a, known, "none") }

func (l *Lookout) tokenBack(a store.Asset, known int64, what string) {
	l.metrics.back.Inc()
	l.alarms.happened(AlarmTokenBack, fmt.Sprintf("the grant of %s went back from token %d to %s: Redis fell back to an older state, by a failover to a "+
		"replica that lagged or a restored backup; what was written in between is lost, and writes under the lost grant are refused; compare the "+
		"tickets with what the agents did, and let Redis wait for its replica (min-replicas-to-write)", a, known, what))
}

// Saw remembers an asset's token, and the highest of all, above which the next one is minted (G3).
func (l *Lookout) Saw(a store.Asset, token int64) {
	l.tokens.found(a, 0, token)
	for seen := l.tokens.highest.Load(); token > seen && !l.tokens.highest.CompareAndSwap(seen, token); seen = l.tokens.highest.Load() {
	}
}

// Highest is the token above which an asset's next one must be (G3).
func (l *Lookout) Highest(a store.Asset) int64 { return max(l.tokens.highest.Load(), l.tokens.of(a)) }
