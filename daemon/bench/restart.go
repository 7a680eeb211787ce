// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

const (
	restartTimes = 5
	loadAgents   = 8
	loadBetween  = time.Second // restarts
	pauseMost    = 500 * time.Millisecond
)

// restarts is P8.
func (h *host) restarts(ctx context.Context) []row {
	p := h.newPassed("restarted", "")
	daemon := p.start(ctx)
	must(client.New(p.path).Status(ctx))
	crowd := startCrowd(ctx, p.path)
	defer crowd.end()
	for range restartTimes {
		time.Sleep(loadBetween)
		if err := end(daemon); err != nil {
			check(fmt.Errorf("cannot stop the daemon cleanly: %w", err))
		}
		daemon = p.start(ctx)
	}
	time.Sleep(loadBetween)
	crowd.end()
	figure := fmt.Sprintf("%d restarts with the socket handed over, under %d agents: failed calls in %d sequences", restartTimes, loadAgents, crowd.done)
	if crowd.first != nil {
		figure += fmt.Sprintf(" (the first: %v)", crowd.first)
	}
	check(end(daemon))
	return []row{
		{id: "P8", figure: figure, picket: strconv.Itoa(crowd.failed), target: "0", ok: crowd.failed == 0},
		{
			id: "P8", figure: "the same: longest sequence of any agent, in which is the pause", picket: milliseconds(crowd.longest),
			target: "< 500 ms", ok: crowd.longest < pauseMost,
		},
	}
}

// crowd is agents that work until they are told to end.
type crowd struct {
	ended  atomic.Bool
	agents sync.WaitGroup

	mu           sync.Mutex
	done, failed int
	first        error // that a sequence failed with
	longest      time.Duration
}

func startCrowd(ctx context.Context, socket string) *crowd {
	c := &crowd{}
	for range loadAgents {
		c.agents.Go(func() {
			agent := client.New(socket)
			defer agent.CloseIdleConnections()
			for !c.ended.Load() {
				start := time.Now()
				err := sequence(ctx, agent, newAsset(), task)
				c.note(err, time.Since(start))
			}
		})
	}
	return c
}

func (c *crowd) note(err error, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.longest = max(c.longest, took)
	if err == nil {
		return
	}
	c.failed++
	if c.first == nil {
		c.first = err
	}
}

// end returns when every agent has ended its sequence.
func (c *crowd) end() {
	c.ended.Store(true)
	c.agents.Wait()
}
