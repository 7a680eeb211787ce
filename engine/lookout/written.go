// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	writesKept = 16        // what Redis loses by going back are the newest writes, so few are enough
	writesFor  = time.Hour // less than any ticket lives
)

// writes remembers the last tickets that this host wrote, by their key, so that a Redis which has gone back to an older state, as an
// RDB or a replica has it, is seen: its incarnation is the same, the tickets are older or missing.
type writes struct {
	mu   sync.Mutex
	last map[string]written
	new  bool // since they were kept
}

type written struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
}

func (w *writes) note(key string, revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]written{}
	}
	if w.last[key].Revision > revision { // the answer of an earlier write came later
		return
	}
	w.last[key], w.new = written{revision, time.Now()}, true
	if len(w.last) > writesKept {
		delete(w.last, slices.MinFunc(slices.Collect(maps.Keys(w.last)), func(a, b string) int { return w.last[a].At.Compare(w.last[b].At) }))
	}
}

func (w *writes) take() (last map[string]written, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.last, func(_ string, x written) bool { return time.Since(x.At) > writesFor })
	changed, w.new = w.new, false
	return maps.Clone(w.last), changed
}

// recall takes up what the last run wrote.
func (w *writes) recall(last map[string]written) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(last, w.last) // what was written since is newer
	w.last = last
}

func (w *writes) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.new = nil, true
}
