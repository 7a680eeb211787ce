// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"sync"
	"sync/atomic"

	"github.com/picketd/picket/engine/store"
)

// tokensKept is how many bytes of assets are remembered in each of two generations: those that were used last. entrySize is what
// one takes beside its name.
const (
	tokensKept = 1 << 20
	entrySize  = 48
)

// tokens remembers the newest token of each asset that this daemon used lately, so that one which goes back is seen. A failover to
// a replica that lags does that, without an error anywhere.
type tokens struct {
	mu         sync.Mutex
	young, old map[store.Asset]int64
	size       int // of young, in bytes

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
	if t.size >= tokensKept || t.young == nil {
		t.young, t.old, t.size = make(map[store.Asset]int64), t.young, 0
	}
	if _, there := t.young[a]; !there {
		t.size += len(a) + entrySize
	}
	t.young[a] = token
	return back
}
