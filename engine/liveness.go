// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/picketd/picket/engine/process"
)

// The bounds of heartbeat and max_hold in a request.
const (
	heartbeatMin = time.Second
	heartbeatMax = 24 * time.Hour
	maxHoldMin   = time.Second
)

// liveness decides what a claim's life hangs on, and opens the process. The caller closes it.
//
// Neither pid nor heartbeat: the connecting process. A heartbeat alone: no process. A pid: that process, of the same user.
func (e *Engine) liveness(r *ClaimRequest) (*process.Process, error) {
	if r.Heartbeat != 0 && (r.Heartbeat < heartbeatMin || r.Heartbeat > heartbeatMax) {
		return nil, &InvalidError{"heartbeat", fmt.Sprintf("must be from %s to %s", span(heartbeatMin), span(heartbeatMax))}
	}
	if r.MaxHold == 0 {
		r.MaxHold = e.config.MaxHold
	} else if r.MaxHold < maxHoldMin || r.MaxHold > e.config.MaxHoldLimit {
		return nil, &InvalidError{"max_hold", fmt.Sprintf("must be from %s to %s", span(maxHoldMin), span(e.config.MaxHoldLimit))}
	}
	switch {
	case r.PID != 0 && r.Peer.Foreign:
		return nil, &InvalidError{"pid", "means nothing from a process that cannot be shown to be of this host's namespaces: leave it out, or give a heartbeat"}
	case r.PID != 0:
		p, err := process.Open(r.PID)
		switch {
		case errors.Is(err, process.ErrNone):
			return nil, &InvalidError{"pid", "there is no such process: name one that lives"}
		case err != nil:
			return nil, fmt.Errorf("cannot watch the process: %w", err)
		}
		if r.Peer.UID != 0 && p.UID() != r.Peer.UID {
			p.Close()
			return nil, fmt.Errorf("%w: the process is another user's", ErrForbidden)
		}
		return p, nil
	case r.Heartbeat != 0:
		return nil, nil
	case r.Peer.Process == nil:
		return nil, &InvalidError{"heartbeat", "is needed here: the connecting process cannot be watched"}
	}
	return r.Peer.Process.Retain(), nil
}

// span is a duration without units that are zero: 24h, not 24h0m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

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
