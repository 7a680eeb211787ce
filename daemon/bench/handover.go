// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

const (
	kills      = 100
	waitedFor  = 30 * time.Millisecond // before the agent is killed, so that its waiter sleeps by then
	pollMetric = 2 * time.Millisecond
)

// handOver is P4, for a waiter on the agent's host and on another.
func (h *host) handOver(ctx context.Context) []row {
	another, socket := h.startAnother(ctx, "another", "")
	rows := []row{
		h.killAgents(ctx, "same host", h.daemonSocket, 5*time.Millisecond),
		h.killAgents(ctx, "other host", socket, 20*time.Millisecond),
	}
	check(end(another))
	return rows
}

// killAgents kills processes for which the first daemon holds a claim, each while another agent waits for the asset.
func (h *host) killAgents(ctx context.Context, where, waiterSocket string, most time.Duration) row {
	agents, waiter := client.New(h.daemonSocket), client.New(waiterSocket)
	defer agents.CloseIdleConnections()
	defer waiter.CloseIdleConnections()
	store := redis.NewClient(redisOptions(h.redisAddr))
	defer store.Close()
	var took, trips []time.Duration
	for range kills {
		took = append(took, h.killAgent(ctx, agents, waiter, waiterSocket))
		check(timed(&trips, 2, func() error { return store.Ping(ctx).Err() }))
	}
	p99, floor := percentile(took, 99), median(trips)
	return row{
		"P4", fmt.Sprintf("agent killed → the waiter's 201, %s: p99 (median %s); floor: one round trip to Redis", where, milliseconds(median(took))),
		milliseconds(p99), milliseconds(floor), times(p99.Seconds() / floor.Seconds()), fmt.Sprintf("≤ %d ms", most.Milliseconds()), p99 <= most,
	}
}

func (h *host) killAgent(ctx context.Context, agents, waiter *client.Client, waiterSocket string) time.Duration {
	asset := newAsset()
	agent := must(h.start(ctx, "sleep", "600"))
	must(agents.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, PID: agent.Process.Pid}))
	type answer struct {
		at    time.Time
		claim *client.Claim
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		r, err := waiter.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "1m", Wait: "1m"})
		answers <- answer{time.Now(), r.Claim, err}
	}()
	for metric(ctx, waiterSocket, "picket_claims_waiting") == 0 {
		time.Sleep(pollMetric)
	}
	time.Sleep(waitedFor)
	killed := time.Now()
	_ = agent.Process.Kill()
	_ = agent.Wait()
	a := <-answers
	check(a.err)
	check(waiter.Release(ctx, a.claim.ID))
	return a.at.Sub(killed)
}

// percentile of what may not be empty: p percent of the values are not above it.
func percentile(values []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(float64(len(sorted))*p/100))-1]
}
