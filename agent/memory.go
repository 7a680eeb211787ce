// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"math/rand/v2"

	"github.com/picketd/picket/agent/assets"
)

// memory is what a run remembers of what it has settled, so that it finds what does not hold any more when it ends.
type memory struct {
	places  []byte         // of each asset: how it was settled; 0 while it is not
	bases   map[int]string // of each chunk that was looked at: what that rests on
	passes  int            // how often the list was gone over again
	asked   bool           // whether all of it still holds
	anew    bool           // all of it was gone over again, as nobody could tell
	checked bool           // all of it holds
	over    bool           // it is not looked at any more, and does not hold
}

// passesMost is how often a run goes over its list again. Who reopens tickets all the time would have it never end.
const passesMost = 3

func newMemory(list *assets.List) memory {
	return memory{places: make([]byte, list.Len()), bases: map[int]string{}, checked: list.Len() < 2}
}

// How an asset was settled.
const (
	asDone = 1 << iota
	asFailed
	asBefore // done by an earlier run, or another host
	asRisky
	asFinal // its ticket was terminal
)

func remembered(r Result) (how byte) {
	for bit, is := range map[byte]bool{
		asDone: r.Outcome == Done, asFailed: r.Outcome == Failed, asBefore: r.Skipped, asRisky: r.HighRisk, asFinal: isTerminal(r.State),
	} {
		if is {
			how |= bit
		}
	}
	return how
}

// forget has an asset that is open be settled anew. It is false for one that this run has left open.
func (m *memory) forget(place int, c *Counts) bool {
	how := m.places[place]
	if how != 0 && how&asFinal == 0 {
		return false
	}
	was := Result{Skipped: how&asBefore != 0, HighRisk: how&asRisky != 0}
	switch {
	case how&asDone != 0:
		was.Outcome = Done
	case how&asFailed != 0:
		was.Outcome = Failed
	}
	m.places[place] = 0
	c.add(was, -1)
	return true
}

// check returns, in an order of chance, the chunks of which what was seen does not hold any more; when nobody can tell, all of them, once.
// A look that failed checks nothing, and neither does one after passesMost.
func (m *memory) check(now look) (stale []int) {
	m.asked = true
	if now.err != nil {
		return nil
	}
	for n, basis := range m.bases {
		if basis != now.basis || now.basis == "" && !m.anew {
			stale = append(stale, n)
		}
	}
	m.anew = m.anew || now.basis == ""
	m.checked, m.over = len(stale) == 0, len(stale) > 0 && m.passes == passesMost
	if m.checked || m.over {
		return nil
	}
	m.passes, m.asked = m.passes+1, false
	rand.Shuffle(len(stale), func(i, j int) { stale[i], stale[j] = stale[j], stale[i] })
	return stale
}
