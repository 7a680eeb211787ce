// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"sync"

	"github.com/picketd/picket/engine/process"
)

func closeProcess(p *process.Process) {
	if p != nil {
		p.Close()
	}
}

// processes watches each process once, for all claims that hang on it.
type processes struct {
	spawn func(func(context.Context))
	ended func(*claim) // is called when a claim's process has ended

	mu   sync.Mutex
	byID map[process.ID]*watched
}

type watched struct {
	claims map[*claim]struct{} // guarded by processes.mu
	idle   chan struct{}       // closes when no claim hangs on it any more
}

func newProcesses(spawn func(func(context.Context)), ended func(*claim)) *processes {
	return &processes{spawn: spawn, ended: ended, byID: map[process.ID]*watched{}}
}

// sameProcess reports whether two claims hang on one process, or both on none.
func sameProcess(a, b *process.Process) bool {
	return a == nil && b == nil || a != nil && b != nil && a.ID() == b.ID()
}

// add watches the claim's process, which now belongs to it. A claim whose process has ended meanwhile ends by that.
func (p *processes) add(c *claim) {
	if c.process == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.lost() != nil { // and remove, which lets go of the process, was called or comes
		return
	}
	id := c.process.ID()
	w := p.byID[id]
	if w == nil {
		w = &watched{claims: map[*claim]struct{}{}, idle: make(chan struct{})}
		p.byID[id] = w
		process := c.process.Retain()
		p.spawn(func(ctx context.Context) { p.watch(ctx, process, id, w) })
	}
	w.claims[c] = struct{}{}
}

// remove is for a claim that ended.
func (p *processes) remove(c *claim) {
	if c.process == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer c.process.Close()
	id := c.process.ID()
	w := p.byID[id]
	if w == nil {
		return
	}
	if delete(w.claims, c); len(w.claims) == 0 {
		delete(p.byID, id)
		close(w.idle)
	}
}

func (p *processes) watch(ctx context.Context, process *process.Process, id process.ID, w *watched) {
	defer process.Close()
	select {
	case <-ctx.Done():
		return
	case <-w.idle:
		return
	case <-process.Exited():
	}
	p.mu.Lock()
	if p.byID[id] == w { // from here on a further claim of this process begins a watch of its own, which ends at once
		delete(p.byID, id)
	}
	p.mu.Unlock()
	for c := range w.claims {
		p.ended(c)
	}
}

// close lets go of the processes of the claims that are still held when the engine stops.
func (p *processes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, w := range p.byID {
		for c := range w.claims {
			c.process.Close()
		}
		delete(p.byID, id)
	}
}
