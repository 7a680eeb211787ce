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
	redis  redis.UniversalClient
	single *redis.Client // nil on a Cluster

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

func newPipeline(client redis.UniversalClient) *pipeline {
	single, _ := client.(*redis.Client)
	p := &pipeline{redis: client, single: single}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// run returns the script's reply, or at latest when ctx ends its error. Then the script may still run.
func (p *pipeline) run(ctx context.Context, s script, keys []string, args []any) ([]any, error) {
	if p.single == nil {
		return s.Run(ctx, p.redis, keys, args...).Slice()
	}
	p.mu.Lock()
	if p.trips < tripsMost {
		p.trips++
		p.mu.Unlock()
		defer p.next()
		return s.Run(ctx, p.redis, keys, args...).Slice()
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
		return s.linked().Eval(ctx, p.redis, keys, args...).Slice()
	}
	return c.reply, c.err
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
	ctx := context.Background() // the callers have one each
	pipe := p.single.Pipeline()
	replies := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		if c.err = c.ctx.Err(); c.err == nil {
			replies[i] = c.script.linked().EvalSha(ctx, pipe, c.keys, c.args...)
		}
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error, that of the trip too
	for i, c := range calls {
		if replies[i] != nil {
			c.reply, c.err = replies[i].Slice()
		}
		close(c.done)
	}
}
