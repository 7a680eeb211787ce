// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// While so many trips to Redis are under way, further calls gather for the next one, which takes so many of them at most: their
// replies share one read time-out.
const (
	tripsMost = 4
	tripSize  = 16
)

// pipeline runs scripts. On one server, calls that come while others are under way travel together, which saves both sides most
// of the system calls; a call that comes alone goes at once. On a Cluster each goes by itself, as a node that is slow must not
// delay calls to others.
type pipeline struct {
	redis    redis.UniversalClient
	single   *redis.Client // nil on a Cluster
	replicas Replicas      // that each trip waits for

	mu      sync.Mutex
	trips   int        // under way
	idle    *sync.Cond // there are none any more
	waiting []*scriptCall
}

// scriptCall is a call that waits for a trip, or is on one.
type scriptCall struct {
	ctx    context.Context
	script script
	keys   []string
	args   []any
	reply  []any
	err    error
	done   chan struct{} // closes when reply and err are there
}

func newPipeline(client redis.UniversalClient, replicas Replicas) *pipeline {
	single, _ := client.(*redis.Client)
	p := &pipeline{redis: client, single: single, replicas: replicas}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// run returns the script's reply, or at latest when ctx ends its error. Then the script may still run. A *lackingError comes with the reply.
func (p *pipeline) run(ctx context.Context, s script, keys []string, args []any) ([]any, error) {
	if p.single == nil {
		return p.alone(ctx, s, keys, args)
	}
	p.mu.Lock()
	if p.trips < tripsMost {
		p.trips++
		p.mu.Unlock()
		defer p.next()
		return p.alone(ctx, s, keys, args)
	}
	c := &scriptCall{ctx: ctx, script: s, keys: keys, args: args, done: make(chan struct{})}
	p.waiting = append(p.waiting, c)
	p.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if redis.HasErrorPrefix(c.err, "NOSCRIPT") {
		return p.alone(ctx, s, keys, args)
	}
	return c.reply, c.err
}

// alone runs a script by itself.
func (p *pipeline) alone(ctx context.Context, s script, keys []string, args []any) ([]any, error) {
	if p.replicas.Number > 0 {
		return p.runKept(ctx, s, keys, args)
	}
	return s.Run(ctx, p.redis, keys, args...).Slice()
}

// next ends a trip and begins another for those who wait.
func (p *pipeline) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.waiting), tripSize)
	if n == 0 {
		if p.trips--; p.trips == 0 {
			p.idle.Broadcast()
		}
		return
	}
	calls := p.waiting[:n:n]
	p.waiting = p.waiting[n:]
	go func() {
		defer p.next()
		p.trip(calls)
	}()
}

// wait returns when no trip is under way.
func (p *pipeline) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.trips > 0 {
		p.idle.Wait()
	}
}

// trip sends calls together, without those whose callers have gone. It is bounded by the client's time-outs.
func (p *pipeline) trip(calls []*scriptCall) {
	defer func() {
		for _, c := range calls {
			close(c.done)
		}
	}()
	there := make([]*scriptCall, 0, len(calls))
	for _, c := range calls {
		if c.err = c.ctx.Err(); c.err == nil {
			there = append(there, c)
		}
	}
	if len(there) > 0 {
		p.send(context.Background(), p.single, there, bySHA, false) // the callers have a context each
	}
}

// send sends scripts to one master in one trip, and waits on the same connection for its replicas, if they are waited for. Each gets its
// reply, or an error of its own, or with a reply a *lackingError.
func (p *pipeline) send(ctx context.Context, master *redis.Client, calls []*scriptCall, command func(*scriptCall, redis.Scripter) *redis.Cmd, asking bool) {
	pipe := master.Pipeline()
	replies := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		if asking {
			pipe.Do(ctx, "asking")
		}
		replies[i] = command(c, pipe)
	}
	waited := p.replicas.waitOn(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each reply has its own error, that of the trip too
	for i, c := range calls {
		if c.reply, c.err = replies[i].Slice(); c.err == nil {
			c.err = waited()
		}
	}
}
