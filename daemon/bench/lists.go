// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/sockapi/client"
)

const (
	fillers     = 256  // agents that make tickets at once
	failedEvery = 1000 // one ticket in so many is FAILED
	failedPage  = 50
	listings    = 20
	listHosts   = 8
	hostsMost   = 100_000 // assets of a list that listHosts go through
	otherTask   = "w49"   // of the list that listHosts go through
)

// list measures a list of so many assets, all of them done.
func (s *scale) list(ctx context.Context, n int) []float64 {
	h, f := s.newHost(ctx), &fleet{}
	defer h.stop()
	defer f.stop()
	c := redis.NewClient(redisOptions(h.redisAddr))
	defer c.Close()
	f.grow(h, 1)
	names := make([]string, n)
	for i := range names {
		names[i] = newAsset()
	}
	empty := readAccount(ctx, c)
	check(f.members[0].fill(ctx, task, names))
	full := readAccount(ctx, c)
	made, all := full.since(empty), float64(n)

	path := h.writeList(names)
	one := newRunner(h, path, []string{h.startRunnersDaemon(ctx, 0)})
	base := newRunner(h, h.writeList(names[:1]), one.sockets).run(ctx, task)
	before := readAccount(ctx, c)
	peak := one.run(ctx, task)
	single := readAccount(ctx, c).since(before).calls

	page, found := listFailed(ctx, one.sockets[0])
	shared := single
	if n <= hostsMost {
		check(f.members[0].fill(ctx, otherTask, names))
		sockets := one.sockets
		for i := 1; i < listHosts; i++ {
			sockets = append(sockets, h.startRunnersDaemon(ctx, i))
		}
		before := readAccount(ctx, c)
		newRunner(h, path, sockets).run(ctx, otherTask)
		shared = readAccount(ctx, c).since(before).calls
	}
	return []float64{
		made.memory, made.memory / all, float64(made.script.Microseconds()) / all, single, single / all, shared / single,
		peak - base, (peak-base)/all - float64(len(names[0])+1), float64(page.Microseconds()) / 1e3, float64(found),
	}
}

// fill makes finished tickets with little in them, and some that are FAILED.
func (m *member) fill(ctx context.Context, task string, names []string) error {
	var next atomic.Int64
	work := make([]func() error, fillers)
	for i := range work {
		work[i] = func() error {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				if err := m.settle(ctx, names[i], task, i%failedEvery == 0); err != nil {
					return fmt.Errorf("cannot make the ticket of %s: %w", names[i], err)
				}
			}
			return nil
		}
	}
	return together(work)
}

func (m *member) settle(ctx context.Context, asset, task string, fails bool) error {
	id, err := m.claim(ctx, asset, task, 0)
	if err != nil {
		return err
	}
	if fails {
		if _, err := m.Fail(ctx, id, 0, engine.FailureRequest{Step: client.StepOnline, Error: "no route to host", Final: true}); err != nil {
			return err
		}
		return m.Release(ctx, id, 0)
	}
	if _, err := m.Step(ctx, id, 0, engine.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline, Facts: steps[0].Facts}); err != nil {
		return err
	}
	_, err = m.Finish(ctx, id, 0, "")
	return err
}

// listFailed is how long a page of the failed tickets takes over the socket, and how many it has.
func listFailed(ctx context.Context, socket string) (took time.Duration, found int) {
	c := client.New(socket)
	defer c.CloseIdleConnections()
	var all []time.Duration
	check(timed(&all, listings, func() error {
		page, err := c.Tickets(ctx, client.TicketQuery{State: client.StateFailed, Limit: failedPage})
		found = len(page.Tickets)
		return err
	}))
	return median(all), found
}

func (h *host) writeList(names []string) (path string) {
	path = filepath.Join(h.dir, fmt.Sprintf("list-%d.txt", len(names)))
	check(os.WriteFile(path, []byte(strings.Join(names, "\n")+"\n"), 0o600))
	return path
}

func (h *host) startRunnersDaemon(ctx context.Context, i int) (socket string) {
	_, socket = h.startAnother(ctx, fmt.Sprintf("runners-%d", i), "")
	return socket
}

// runner has picket run go through a list on several hosts at once.
type runner struct {
	h       *host
	config  string
	list    string
	sockets []string // of the hosts' daemons
}

func newRunner(h *host, list string, sockets []string) *runner {
	config := filepath.Join(h.dir, "agent.toml")
	check(os.WriteFile(config, []byte("[step.vuln]\ncommand = [\"true\"]\n"), 0o600))
	return &runner{h, config, list, sockets}
}

// run returns the most memory in bytes that any of the processes had resident.
func (r *runner) run(ctx context.Context, task string) (peak float64) {
	peaks := make(chan float64, len(r.sockets))
	for _, socket := range r.sockets {
		cmd := must(r.h.start(ctx, r.h.picket, "run", "--config", r.config, "--assets", r.list, "--task", task, "--socket", socket))
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // with 1: some tickets are FAILED
			close(ended)
		}()
		go func() { peaks <- peakOf(cmd.Process.Pid, ended) }()
	}
	for range r.sockets {
		peak = max(peak, <-peaks)
	}
	return peak
}

// peakOf looks at a process until it has ended. The kernel forgets its peak with it.
func peakOf(pid int, ended <-chan struct{}) (peak float64) {
	for {
		peak = max(peak, statusBytes(pid, "VmHWM"))
		select {
		case <-ended:
			return peak
		case <-time.After(pollMetric):
		}
	}
}
