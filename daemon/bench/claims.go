// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
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
func (h *host) liveClaims(ctx context.Context) []row {
	keeper, socket := h.startAnother(ctx, "keeper", "")
	crew := make([]*client.Client, claimers)
	for i := range crew {
		crew[i] = client.New(socket)
		defer crew[i].CloseIdleConnections()
		check(sequence(ctx, crew[i], newAsset(), task))
	}
	pid := keeper.Process.Pid
	empty := resident(pid)
	check(claimMany(ctx, crew))
	renewed, cpu := renewals(ctx, pid, socket)
	full := resident(pid)
	list := must(crew[0].Claims(ctx))
	floor := h.bareRenewals(ctx)
	picket := cpu / time.Duration(renewed)
	ratio := picket.Seconds() / floor.Seconds()
	kib := (full - empty) * 1e6 / 1024 / manyClaims
	lost := manyClaims - len(list.Claims)
	check(end(keeper))
	return []row{
		{
			"P5", fmt.Sprintf("%d live claims: CPU of a renewal, at %.0f/s; floor: redsync in a bare loop", manyClaims, renewed/renewedFor.Seconds()),
			microseconds(picket), microseconds(floor), times(ratio), "≤ 1.5×", ratio <= 1.5,
		},
		{id: "P5", figure: "the same: resident memory of a claim", picket: fmt.Sprintf("%.1f KiB", kib), target: "≤ 4 KiB", ok: kib <= 4},
		{id: "P5", figure: "the same: claims lost", picket: strconv.Itoa(lost), target: "0", ok: lost == 0},
	}
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

// renewals counts a daemon's renewals for a while, and the CPU that it used.
func renewals(ctx context.Context, pid int, socket string) (n float64, cpu time.Duration) {
	pause(ctx, settle)
	before, used := metric(ctx, socket, renewedName), must(cpuOf(pid))
	pause(ctx, renewedFor)
	cpu = must(cpuOf(pid)) - used
	return metric(ctx, socket, renewedName) - before, cpu
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
func (h *host) bareRenewals(ctx context.Context) time.Duration {
	work := newRedisWork(h.redisAddr)
	defer work.redis.Close()
	locks := make([]*redsync.Mutex, manyClaims)
	for i := range locks {
		locks[i] = work.locks.NewMutex(fmt.Sprintf("picket:{bare-%d}:lock", i), redsync.WithExpiry(time.Minute), redsync.WithTries(1))
		check(locks[i].LockContext(ctx))
	}
	before := must(ownCPU())
	for range barePasses {
		for _, l := range locks {
			must(l.ExtendContext(ctx))
		}
	}
	return (must(ownCPU()) - before) / (barePasses * manyClaims)
}

func ownCPU() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

func microseconds(d time.Duration) string { return fmt.Sprintf("%.0f µs", d.Seconds()*1e6) }
