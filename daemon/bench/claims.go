// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sys/unix"

	"github.com/picketd/picket/sockapi/client"
)

const (
	manyClaims  = 10_000 // as many as one user may have
	claimers    = 16
	renewedFor  = 20 * time.Second
	barePasses  = 3 // over all locks of the bare loop
	renewedName = `picket_renewals_total{result="ok"}`
)

// liveClaims is P5: what it costs a daemon to keep many claims, per renewal and in memory.
func (h *host) liveClaims(ctx context.Context) ([]row, error) {
	keeper, socket, err := h.startAnother(ctx, "keeper", "")
	if err != nil {
		return nil, err
	}
	crew := make([]*client.Client, claimers)
	for i := range crew {
		crew[i] = client.New(socket)
		defer crew[i].CloseIdleConnections()
		if err := sequence(ctx, crew[i], newAsset(), task); err != nil {
			return nil, err
		}
	}
	pid := keeper.Process.Pid
	empty, err := resident(pid)
	if err != nil {
		return nil, err
	}
	if err := claimMany(ctx, crew); err != nil {
		return nil, err
	}
	renewed, cpu, err := renewals(ctx, pid, socket)
	if err != nil {
		return nil, err
	}
	full, err := resident(pid)
	if err != nil {
		return nil, err
	}
	list, err := crew[0].Claims(ctx)
	if err != nil {
		return nil, err
	}
	floor, err := h.bareRenewals(ctx)
	if err != nil {
		return nil, err
	}
	picket := cpu / time.Duration(renewed)
	ratio := picket.Seconds() / floor.Seconds()
	kib := (full - empty) * 1e6 / 1024 / manyClaims
	lost := manyClaims - len(list.Claims)
	return []row{
		{
			"P5", fmt.Sprintf("%d live claims: CPU of a renewal, at %.0f/s; floor: redsync in a bare loop", manyClaims, renewed/renewedFor.Seconds()),
			microseconds(picket), microseconds(floor), times(ratio), "≤ 1.5×", ratio <= 1.5,
		},
		{id: "P5", figure: "the same: resident memory of a claim", picket: fmt.Sprintf("%.1f KiB", kib), target: "≤ 4 KiB", ok: kib <= 4},
		{id: "P5", figure: "the same: claims lost", picket: strconv.Itoa(lost), target: "0", ok: lost == 0},
	}, end(keeper)
}

// claimMany claims as many assets, each for an agent that needs to give no sign of life for a day.
func claimMany(ctx context.Context, crew []*client.Client) error {
	work := make([]func() error, len(crew))
	for i, c := range crew {
		work[i] = func() error {
			for range manyClaims / len(crew) {
				if _, err := c.Claim(ctx, client.ClaimRequest{Asset: newAsset(), Task: task, Heartbeat: "24h"}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return together(work)
}

// together runs all at once and returns the first error.
func together(work []func() error) error {
	var group sync.WaitGroup
	errs := make(chan error, len(work))
	for _, do := range work {
		group.Go(func() { errs <- do() })
	}
	group.Wait()
	for range work {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// renewals counts a daemon's renewals for a while, and the CPU that it used.
func renewals(ctx context.Context, pid int, socket string) (n float64, cpu time.Duration, err error) {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	before, err := metric(ctx, socket, renewedName)
	if err != nil {
		return 0, 0, err
	}
	used, err := cpuOf(pid)
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-time.After(renewedFor):
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	cpu, err = cpuOf(pid)
	if err != nil {
		return 0, 0, err
	}
	after, err := metric(ctx, socket, renewedName)
	return after - before, cpu - used, err
}

// cpuOf is how much CPU a process has used, in user and system.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // past the name, which may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("cannot read the CPU of process %d", pid)
	}
	const tick = time.Second / 100 // USER_HZ
	return time.Duration(number(fields[11])+number(fields[12])) * tick, nil
}

// bareRenewals is the CPU that a renewal takes in this process, which does nothing else meanwhile: redsync's Extend, one by one.
func (h *host) bareRenewals(ctx context.Context) (time.Duration, error) {
	work := newRedisWork(h.redisAddr)
	defer work.redis.Close()
	locks := make([]*redsync.Mutex, manyClaims)
	for i := range locks {
		locks[i] = work.locks.NewMutex(fmt.Sprintf("picket:{bare-%d}:lock", i), redsync.WithExpiry(time.Minute), redsync.WithTries(1))
		if err := locks[i].LockContext(ctx); err != nil {
			return 0, err
		}
	}
	before, err := ownCPU()
	if err != nil {
		return 0, err
	}
	for range barePasses {
		for _, l := range locks {
			if _, err := l.ExtendContext(ctx); err != nil {
				return 0, err
			}
		}
	}
	after, err := ownCPU()
	return (after - before) / (barePasses * manyClaims), err
}

func ownCPU() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

func microseconds(d time.Duration) string { return fmt.Sprintf("%.0f µs", d.Seconds()*1e6) }
