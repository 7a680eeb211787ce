// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	_ "github.com/picketd/picket/daemon" // what the idle process has linked
	"github.com/picketd/picket/sockapi/client"
)

const (
	warmUp     = 50 // sequences of each side
	blocks     = 40 // of one agent's sequences, by turns
	blockSize  = 25
	manyAgents = 64
	readers    = 8
)

// measureAll takes P9 first, while the daemon has done nothing yet.
func (h *host) measureAll(ctx context.Context) (rows []row) {
	p9 := h.idleMemory(ctx)
	for _, measure := range []func(context.Context) []row{
		h.oneAgent, h.many, h.reads, h.handOver, h.liveClaims, h.notifications, h.fullOutbox, h.restarts, h.busy, h.runs, h.pages,
	} {
		rows = append(rows, measure(ctx)...)
	}
	return append(rows, p9, h.fencedStep(ctx))
}

// idleMemory is P9.
func (h *host) idleMemory(ctx context.Context) row {
	pause(ctx, settle)
	picket, floor := resident(h.daemon.Process.Pid), resident(h.idle.Process.Pid)
	const most = 30.0
	return row{
		"P9", "idle daemon, resident memory; floor: the same libraries linked, doing nothing",
		megabytes(picket), megabytes(floor), times(picket / floor), "< 30 MB", picket < most,
	}
}

// oneAgent is P1, and the same Redis work in this process.
func (h *host) oneAgent(ctx context.Context) []row {
	picket, floor := client.New(h.daemonSocket), client.New(h.floorSocket)
	work := newRedisWork(h.redisAddr)
	var tookPicket, tookFloor, tookWork []time.Duration
	side := func(took *[]time.Duration, sequence func() error) func() error {
		return func() error { return timed(took, blockSize, sequence) }
	}
	all := []func() error{
		func() error { return sequence(ctx, picket, newAsset(), task) },
		func() error { return sequence(ctx, floor, newAsset(), task) },
		func() error { return work.sequence(ctx, newAsset(), task) },
	}
	check(inTurns(warmUp, all...))
	check(inTurns(blocks, side(&tookPicket, all[0]), side(&tookFloor, all[1]), side(&tookWork, all[2])))
	a, b := median(tookPicket), median(tookFloor)
	ratio := a.Seconds() / b.Seconds()
	return []row{
		{"P1", "1 agent: claim, 4 steps, finish", milliseconds(a), milliseconds(b), times(ratio), "≤ 1.2×", ratio <= 1.2},
		{figure: "the same Redis work in one process, without a socket", floor: milliseconds(median(tookWork))},
	}
}

// many is P2.
func (h *host) many(ctx context.Context) []row {
	crew := func(socket string) (crew []func() error) {
		for range manyAgents {
			c := client.New(socket) // each agent has a connection of its own
			crew = append(crew, func() error { return sequence(ctx, c, newAsset(), task) })
		}
		return crew
	}
	c := compare(ctx, crew(h.daemonSocket), crew(h.floorSocket))
	return []row{c.row("P2", strconv.Itoa(manyAgents)+" agents, the same", 0.85)}
}

// reads is P3.
func (h *host) reads(ctx context.Context) []row {
	asset := newAsset()
	check(sequence(ctx, client.New(h.daemonSocket), asset, task))
	var seen []client.Ticket
	crew := func(socket string) (crew []func() error) {
		for range readers {
			c := client.New(socket)
			seen = append(seen, must(c.Ticket(ctx, asset, task)))
			crew = append(crew, func() error {
				_, err := c.Ticket(ctx, asset, task)
				return err
			})
		}
		return crew
	}
	picket, floor := crew(h.daemonSocket), crew(h.floorSocket)
	if !reflect.DeepEqual(seen[0], seen[readers]) {
		check(errors.New("cannot compare: the daemon and the floor answer with different tickets"))
	}
	return []row{compare(ctx, picket, floor).row("P3", strconv.Itoa(readers)+" agents read a finished ticket, without a lock", 0.9)}
}
