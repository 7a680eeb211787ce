// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// steadyAgents call without a break, and note how long a call takes at most.
type steadyAgents struct {
	client  *client.Client
	calls   atomic.Int64
	longest atomic.Int64 // ns
	rounds  atomic.Int64
}

// waiting is a call that takes as long as others hold the asset.
const waiting = "waiting claim"

func (s *steadyAgents) call(what string, do func() error) error {
	begun := time.Now()
	err := do()
	took := int64(time.Since(begun))
	if what == waiting {
		took = 0
	}
	for was := s.longest.Load(); took > was && !s.longest.CompareAndSwap(was, took); was = s.longest.Load() {
		continue
	}
	s.calls.Add(1)
	if err != nil {
		return fmt.Errorf("%s, after %s: %w", what, time.Since(begun).Round(time.Millisecond), err)
	}
	return nil
}

// round takes a new ticket of an asset from claim to finish, with signs of life in between. shared says that others want it too.
func (s *steadyAgents) round(ctx context.Context, asset, task string, shared bool) error {
	ask, what := client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "1m"}, "claim"
	if shared {
		ask.Wait, what = "1m", waiting
	}
	var got client.ClaimResponse
	err := s.call(what, func() (err error) { got, err = s.client.Claim(ctx, ask); return err })
	if err != nil {
		return err
	}
	id, token := got.Claim.ID, got.Claim.Token
	for _, step := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone}, {Step: client.StepIntel, State: client.StateVulnCheckDone},
	} {
		if err := s.call(step.Step, func() error { _, err := s.client.Step(ctx, id, step); return err }); err != nil {
			return err
		}
		var c client.Claim
		if err := s.call("heartbeat", func() (err error) { c, err = s.client.Heartbeat(ctx, id); return err }); err != nil {
			return err
		}
		if c.Token != token || c.Status != client.StatusHeld {
			return fmt.Errorf("the claim with token %d is %s", token, describe(c))
		}
	}
	s.rounds.Add(1)
	return s.call("finish", func() error { _, err := s.client.Finish(ctx, id, ""); return err })
}

// TestUnderSocketActivationNoCallFails: the socket stays while the daemon is restarted again and again under load (P8).
func TestUnderSocketActivationNoCallFails(t *testing.T) { // alone, as its agents call as fast as they can
	const restarts = 4
	m := newManager(t, "unix://"+redistest.Start(t).SocketPath())
	daemon := m.start(t)
	agents := steadyAgents{client: client.New(filepath.Join(m.dir, "passed.sock"))}
	defer agents.client.CloseIdleConnections()
	enough := make(chan struct{})
	var work sync.WaitGroup
	for i := range 8 {
		asset, shared := fmt.Sprintf("web-%d", i), i < 3
		if shared {
			asset = "shared"
		}
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-enough:
					return
				default:
				}
				if err := agents.round(t.Context(), asset, fmt.Sprintf("t%d-%d", i, n), shared); err != nil {
					t.Errorf("agent %d, round %d: %v", i, n, err)
					return
				}
			}
		})
	}
	holder, err := agents.client.Claim(t.Context(), client.ClaimRequest{Asset: "all-along", Task: theTask, Heartbeat: "10m"})
	for range restarts {
		m.told(t) // that it is ready
		before := agents.rounds.Load()
		eventually(t, "the agents get on", func() bool { return agents.rounds.Load() > before+8 || t.Failed() })
		if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon did not stop cleanly: %v\n%s", err, daemon.Stderr)
		}
		m.told(t) // that it is stopping
		daemon = m.start(t)
	}
	before := agents.rounds.Load()
	eventually(t, "the agents get on", func() bool { return agents.rounds.Load() > before+8 || t.Failed() })
	close(enough)
	work.Wait()
	t.Logf("%d calls over %d restarts, none failed: %v; the longest took %s", agents.calls.Load(), restarts, !t.Failed(),
		time.Duration(agents.longest.Load()).Round(time.Millisecond))
	if err = errors.Join(err, agents.call("step", func() error {
		_, err := agents.client.Step(t.Context(), holder.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline})
		return err
	})); err != nil {
		t.Errorf("the claim that was held all along: %v", err)
	}
	agents.client.CloseIdleConnections()
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("%v\n%s", err, daemon.Stderr)
	}
}
