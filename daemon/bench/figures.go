// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	_ "github.com/picketd/picket/daemon" // what the idle process has linked
	"github.com/picketd/picket/sockapi/client"
)

const (
	settle     = 3 * time.Second // before the memory of idle processes is read
	warmUp     = 50              // sequences of each side
	blocks     = 40              // of one agent's sequences, by turns
	blockSize  = 25
	rounds     = 15 // of each rate
	roundTime  = 500 * time.Millisecond
	manyAgents = 64
	readers    = 8
)

// measureAll takes P9 first, while the daemon has done nothing yet.
func (h *host) measureAll(ctx context.Context) ([]row, error) {
	p9, err := h.idleMemory(ctx)
	if err != nil {
		return nil, err
	}
	p1, inProcess, err := h.oneAgent(ctx)
	if err != nil {
		return nil, err
	}
	p2, err := h.many(ctx)
	if err != nil {
		return nil, err
	}
	p3, err := h.reads(ctx)
	if err != nil {
		return nil, err
	}
	rows := []row{p1, inProcess, p2, p3}
	for _, measure := range []func(context.Context) ([]row, error){
		h.handOver, h.liveClaims, h.notifications, h.fullOutbox, h.restarts,
	} {
		more, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return append(rows, p9), nil
}

// idleMemory is P9.
func (h *host) idleMemory(ctx context.Context) (row, error) {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return row{}, context.Cause(ctx)
	}
	picket, err := resident(h.daemon.Process.Pid)
	if err != nil {
		return row{}, err
	}
	floor, err := resident(h.idle.Process.Pid)
	if err != nil {
		return row{}, err
	}
	const most = 30.0
	return row{
		"P9", "idle daemon, resident memory; floor: the same libraries linked, doing nothing",
		megabytes(picket), megabytes(floor), times(picket / floor), "< 30 MB", picket < most,
	}, nil
}

// resident is the resident memory of a process in MB.
func resident(pid int) (float64, error) {
	text := strings.TrimSuffix(lineOf(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"), " kB")
	kib, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of process %d: %w", pid, err)
	}
	return kib * 1024 / 1e6, nil
}

// oneAgent is P1, and the same Redis work in this process.
func (h *host) oneAgent(ctx context.Context) (p1, inProcess row, err error) {
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
	if err := inTurns(warmUp, all...); err != nil {
		return row{}, row{}, err
	}
	if err := inTurns(blocks, side(&tookPicket, all[0]), side(&tookFloor, all[1]), side(&tookWork, all[2])); err != nil {
		return row{}, row{}, err
	}
	a, b := median(tookPicket), median(tookFloor)
	ratio := a.Seconds() / b.Seconds()
	p1 = row{"P1", "1 agent: claim, 4 steps, finish", milliseconds(a), milliseconds(b), times(ratio), "≤ 1.2×", ratio <= 1.2}
	inProcess = row{figure: "the same Redis work in one process, without a socket", floor: milliseconds(median(tookWork))}
	return p1, inProcess, nil
}

// many is P2.
func (h *host) many(ctx context.Context) (row, error) {
	crew := func(socket string) (crew []func() error) {
		for range manyAgents {
			c := client.New(socket) // each agent has a connection of its own
			crew = append(crew, func() error { return sequence(ctx, c, newAsset(), task) })
		}
		return crew
	}
	c, err := compare(ctx, rounds, roundTime, crew(h.daemonSocket), crew(h.floorSocket))
	if err != nil {
		return row{}, err
	}
	return c.row("P2", strconv.Itoa(manyAgents)+" agents, the same", 0.85), nil
}

// reads is P3.
func (h *host) reads(ctx context.Context) (row, error) {
	asset := newAsset()
	if err := sequence(ctx, client.New(h.daemonSocket), asset, task); err != nil {
		return row{}, err
	}
	var seen []client.Ticket
	crew := func(socket string) (crew []func() error, err error) {
		for range readers {
			c := client.New(socket)
			t, err := c.Ticket(ctx, asset, task)
			if err != nil {
				return nil, err
			}
			seen = append(seen, t)
			crew = append(crew, func() error {
				_, err := c.Ticket(ctx, asset, task)
				return err
			})
		}
		return crew, nil
	}
	picket, err := crew(h.daemonSocket)
	if err != nil {
		return row{}, err
	}
	floor, err := crew(h.floorSocket)
	if err != nil {
		return row{}, err
	}
	if !reflect.DeepEqual(seen[0], seen[readers]) {
		return row{}, errors.New("cannot compare: the daemon and the floor answer with different tickets")
	}
	c, err := compare(ctx, rounds, roundTime, picket, floor)
	if err != nil {
		return row{}, err
	}
	return c.row("P3", strconv.Itoa(readers)+" agents read a finished ticket, without a lock", 0.9), nil
}
