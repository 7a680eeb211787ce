// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// waiting is one that a rate holds back.
type waiting struct {
	key
	rank
	until time.Time // when it counts no more, because it was expected back before
}

const (
	longestLine = 4096
	grace       = 2 * time.Second // for one whose time has come to be looked at
)

// line has those that a channel's rate holds back, the best first, so that each is told when its own turn comes, and nobody takes a
// better one's.
type line struct {
	mu  sync.Mutex
	all []waiting // by rank; at most longestLine
	by  map[key]rank
}

// admit lets w through the rates unless better ones wait for what is left of them. A line that is too long has no place for w.
func (l *line) admit(now time.Time, rs rates, w waiting) (wait time.Duration, inLine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.by[w.key]; ok {
		l.removeLocked(w.key, r)
	}
	place, _ := l.findLocked(w)
	ahead := 0
	for _, o := range l.all[:place] {
		if !o.until.Before(now) {
			ahead++
		}
	}
	if wait = rs.wait(now, ahead); wait == 0 {
		return rs.admit(now), false
	}
	if place == longestLine {
		return wait, false
	}
	w.until = now.Add(wait + grace)
	if l.by == nil {
		l.by = map[key]rank{}
	}
	l.all = slices.Insert(l.all, place, w)
	l.by[w.key] = w.rank
	if len(l.all) > longestLine {
		delete(l.by, l.all[longestLine].key)
		l.all = l.all[:longestLine]
	}
	return wait, true
}

func (l *line) findLocked(w waiting) (int, bool) {
	return slices.BinarySearchFunc(l.all, w, func(a, b waiting) int {
		return cmp.Or(a.compare(b.rank), cmp.Compare(a.id, b.id))
	})
}

func (l *line) removeLocked(k key, r rank) {
	if i, ok := l.findLocked(waiting{key: k, rank: r}); ok {
		l.all = slices.Delete(l.all, i, i+1)
	}
	delete(l.by, k)
}
