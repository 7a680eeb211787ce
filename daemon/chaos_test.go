// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// chaosFor is the variable that says for how long the chaos tests freeze, kill and thaw, as in 1m.
const chaosFor = "PICKET_CHAOS"

// chaosTime is that time, or a short one.
func chaosTime(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	s := os.Getenv(chaosFor)
	if s == "" {
		return short
	}
	long, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return long
}

// chaosLasts is a context that ends after long, but where the machine stood still not before something happened, or a minute later.
func chaosLasts(ctx context.Context, long time.Duration, happened func() bool) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		end := time.Now().Add(long)
		for pause(ctx, 100*time.Millisecond) {
			if now := time.Now(); now.After(end) && (happened() || now.After(end.Add(time.Minute))) {
				stop()
			}
		}
	}()
	return ctx, stop
}

// The lock's TTL there, and how long a daemon is frozen: for less than the TTL, or for more.
const (
	chaosTTL   = time.Second
	freezeMost = 2 * chaosTTL
)

// written is a write that an agent was told is accepted.
type written struct {
	ticket, event, step string
	token               int64
}

// trust is a time in which an agent may rely on its claim.
type trust struct {
	token       int64
	begin, till time.Time
}

// chaos is what the agents do, and what they see.
type chaos struct {
	tasks  []atomic.Int64 // by asset: the task that all work on, until its ticket is terminal
	enough context.Context

	mu      sync.Mutex // guards what follows
	writes  []written
	trusts  map[string][]trust      // by asset
	had     map[*client.Client]bool // a claim of this host's
	refused int
}

func chaosAsset(i int) string { return fmt.Sprintf("chaos-%d", i) }

// TestG1_Chaos has agents on three hosts fight for a few assets while their daemons are frozen and thawed at random, and checks
// over what they saw and over the tickets' histories that no two claims on an asset were trusted at once (G1), that nothing was
// written under any grant but the newest (G2), that tokens only grew (G3), and that what was accepted is recorded, once (G5).
func TestG1_Chaos(t *testing.T) {
	t.Parallel()
	long := chaosTime(t, 5*time.Second)
	server := redistest.Start(t)
	var hosts []*crashHost
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		h := newCrashHost(t, name, server, nil)
		h.config.Lock.TTL = Duration(chaosTTL)
		h.start(t, "")
		hosts = append(hosts, h)
	}
	c := &chaos{tasks: make([]atomic.Int64, 5), trusts: map[string][]trust{}, had: map[*client.Client]bool{}}
	var stop context.CancelFunc
	c.enough, stop = chaosLasts(t.Context(), long, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.writes) > 0 && len(c.had) == len(hosts)
	})
	defer stop()
	var freezing, working sync.WaitGroup
	for _, h := range hosts {
		freezing.Go(func() {
			for c.pause(freezeMost) {
				h.signal(t, syscall.SIGSTOP)
				c.pause(freezeMost)
				h.signal(t, syscall.SIGCONT)
			}
		})
		for range 6 {
			working.Go(func() {
				for c.enough.Err() == nil {
					c.round(h.client, rand.IntN(len(c.tasks)))
				}
			})
		}
	}
	freezing.Wait()
	working.Wait()
	c.check(t, hosts[0].client)
}

func (c *chaos) pause(most time.Duration) bool { return pause(c.enough, rand.N(most)) }

// pause sleeps, and reports whether it is not enough yet.
func pause(enough context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return enough.Err() == nil
	case <-enough.Done():
		return false
	}
}

// round is one claim of an agent, from its asking to its end.
func (c *chaos) round(cl *client.Client, asset int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*chaosTTL) // longer than a freeze
	defer cancel()
	n := c.tasks[asset].Load()
	ask := client.ClaimRequest{Asset: chaosAsset(asset), Task: fmt.Sprintf("t%d", n), Heartbeat: "2s", Wait: "300ms"}
	sent := time.Now()
	got, err := cl.Claim(ctx, ask)
	if err == nil && got.Claim == nil { // it is done
		c.tasks[asset].CompareAndSwap(n, n+1)
	}
	if err != nil || got.Claim == nil {
		return
	}
	c.mu.Lock()
	c.had[cl] = true
	c.mu.Unlock()
	c.relies(*got.Claim, sent)
	err = c.work(ctx, cl, got)
	c.endTrust(*got.Claim, time.Now())
	switch rand.IntN(12) {
	case 0: // it forgets to let go, and falls silent
	case 1, 2, 3:
		_, err = cl.Finish(ctx, got.Claim.ID, "")
	default:
		err = errors.Join(err, cl.Release(ctx, got.Claim.ID))
	}
	var p *client.Problem
	if errors.As(err, &p) && (p.Code == client.ClaimLost || p.Code == client.StaleToken) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused++
	}
}

// work records steps under a claim, with pauses and signs of life, until there are none left or one is refused.
func (c *chaos) work(ctx context.Context, cl *client.Client, got client.ClaimResponse) error {
	for next := got.Next; len(next) > 0 && c.enough.Err() == nil; {
		pause := 10 * time.Millisecond
		if rand.IntN(20) == 0 {
			pause = 3 * chaosTTL / 2
		}
		c.pause(pause)
		choice := next[rand.IntN(len(next))]
		switch rand.IntN(3) {
		case 0:
			sent := time.Now()
			seen, err := cl.Heartbeat(ctx, got.Claim.ID)
			if err != nil {
				return err
			}
			c.relies(seen, sent)
			continue
		case 1: // a write that is right in every state
			if _, err := cl.Fail(ctx, got.Claim.ID, client.FailureRequest{Step: choice.Step, Error: "to be tried again"}); err != nil {
				return err
			}
			c.accepted(got, "failure", choice.Step)
			continue
		}
		switch choice.Step {
		case "finish":
			return nil
		case "notify": // there are no channels here
			_, err := cl.Fail(ctx, got.Claim.ID, client.FailureRequest{Step: "notify", Error: "nobody to tell", Final: true})
			return err
		}
		answer, err := cl.Step(ctx, got.Claim.ID, client.StepRequest{Step: choice.Step, State: choice.States[rand.IntN(len(choice.States))]})
		if err != nil {
			return err
		}
		next = answer.Next
		if !answer.Replayed {
			c.accepted(got, "step", choice.Step)
		}
	}
	return nil
}

func (c *chaos) accepted(got client.ClaimResponse, event, step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, written{got.Ticket.ID, event, step, got.Claim.Token})
}

// relies notes for how long an agent may rely on its claim: from now until what it was told, counted from when it asked.
func (c *chaos) relies(claim client.Claim, sent time.Time) {
	now, till := time.Now(), sent.Add(time.Duration(claim.TrustedMS)*time.Millisecond)
	if claim.Status != client.StatusHeld || !now.Before(till) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusts[claim.Asset] = append(c.trusts[claim.Asset], trust{claim.Token, now, till})
}

// endTrust is for an agent that is about to let go.
func (c *chaos) endTrust(claim client.Claim, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.trusts[claim.Asset] {
		if one := &c.trusts[claim.Asset][i]; one.token == claim.Token && one.till.After(now) {
			one.till = now
		}
	}
}
