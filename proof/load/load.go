// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/stage"
)

// Options say what the load is.
type Options struct {
	Log       *history.Log
	Seed      uint64
	Picket    string        // the path of the command picket
	TTL       time.Duration // of a lock, as the daemons have it
	Receivers *Receivers
}

// How much there is on each host.
const (
	agents  = 2
	workers = 2 // in each agent
)

// Load is work that is under way.
type Load struct {
	Options
	stage     *stage.Stage
	self      string // this program
	epoch     int64
	processes []*Process
	draining  context.Context
	drain     context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	tickets map[name]bool
	broken  []error // what could not be started
}

// Start begins the work. When ctx ends all processes are killed; Settle ends them gently.
func Start(ctx context.Context, s *stage.Stage, o Options) (*Load, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &Load{Options: o, stage: s, self: self, epoch: history.Now(), tickets: map[name]bool{}}
	l.draining, l.drain = context.WithCancel(ctx)
	for i, h := range s.Hosts {
		for n := range agents {
			p := l.process("agent", fmt.Sprintf("agent %s/%d", h.Name, n+1))
			l.running.Go(func() { l.agent(ctx, h, p, n == 0, rand.New(rand.NewPCG(o.Seed, uint64(100*i+n)))) })
		}
		exec, run := l.process("exec", "exec "+h.Name), l.process("run", "run "+h.Name)
		l.running.Go(func() { l.exec(ctx, h, exec, rand.New(rand.NewPCG(o.Seed, uint64(100*i+98)))) })
		l.running.Go(func() { l.run(ctx, h, run, rand.New(rand.NewPCG(o.Seed, uint64(100*i+99)))) })
	}
	return l, nil
}

func (l *Load) process(kind, name string) *Process {
	p := &Process{Kind: kind, Name: name}
	l.processes = append(l.processes, p)
	return p
}

// Processes are those that are alive now: one that the caller has frozen is.
func (l *Load) Processes() []*Process {
	var alive []*Process
	for _, p := range l.processes {
		if p.alive() {
			alive = append(alive, p)
		}
	}
	return alive
}

// meet notes a ticket that somebody is about to ask for.
func (l *Load) meet(n name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tickets[n] = true
}

func (l *Load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, err)
}

// broke is why something could not be started, or nil.
func (l *Load) broke() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.broken...)
}
