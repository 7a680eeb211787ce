// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"sync"

	"github.com/picketd/picket/agent/verdict"
)

// Use is which entries have met a finding, over many tickets. It may be used by several goroutines at once.
type Use struct {
	mu    sync.Mutex
	files map[string]*fileUse // by digest
}

type fileUse struct {
	tickets int
	met     map[int]bool
}

// Add takes what a ticket has recorded; nil of one without.
func (u *Use) Add(a *verdict.Accepted) {
	if a == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range a.Files {
		if u.files == nil {
			u.files = map[string]*fileUse{}
		}
		if u.files[f.Digest] == nil {
			u.files[f.Digest] = &fileUse{met: map[int]bool{}}
		}
		one := u.files[f.Digest]
		one.tickets++
		for n := range f.Used.All() {
			one.met[int(n)] = true
		}
	}
}

// Unused are the entries, and the products of accepting statements, that met no finding of the tickets, and the least number of
// tickets that rest on their file as it is now. Of a file on which no ticket rests, nothing is said.
func (l *List) Unused(u *Use) (entries []string, tickets int) {
	if l == nil {
		return nil, 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range l.rules {
		used := u.files[l.files[r.file].digest]
		if !r.accepts || used == nil || used.met[r.number] {
			continue
		}
		if tickets == 0 || used.tickets < tickets {
			tickets = used.tickets
		}
		entry := r.id
		if r.about != "" {
			entry += " in " + r.about
		}
		entries = append(entries, entry+" ("+r.source+")")
	}
	return entries, tickets
}
