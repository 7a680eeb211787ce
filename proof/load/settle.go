// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Settle is for when there are no faults any more. It lets all who work come to their end, has somebody decide about what waits for a
// decision, brings every ticket to its end, and waits until no host has anything left to send. Then it reads, by the name of final, every
// ticket with its history, and each host's claims and outbox. An error says what does not come to rest: the history tells why.
func (l *Load) Settle(ctx context.Context) error {
	l.drain()
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		return errors.Join(errors.New("the agents do not end"), l.broke())
	}
	if err := l.broke(); err != nil {
		return err
	}
	s := &settler{load: l}
	for _, h := range l.stage.Living() {
		s.callers = append(s.callers, newCaller(l.Log, "final", h.Name, h.Socket))
	}
	l.mu.Lock()
	all := slices.SortedFunc(maps.Keys(l.tickets), func(a, b name) int { return strings.Compare(a.path(), b.path()) })
	l.mu.Unlock()
	restless := s.rest(ctx, slices.Clone(all))
	s.read(all)
	return restless
}

// settler ends what is under way.
type settler struct {
	load    *Load
	callers []*caller // one a host
}

// rest waits until all is at rest. Each round asks only for what was not at rest in the one before.
func (s *settler) rest(ctx context.Context, names []name) error {
	for {
		names = slices.DeleteFunc(names, func(n name) bool { return s.done(ctx, n) })
		left := s.sendable(ctx)
		if len(names) == 0 && len(left) == 0 {
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("still waiting for tickets %v and for intents %v", names, left)
		}
	}
}

// done reports whether a ticket is at its end. It goes on with one that nobody works on, and decides what a person has to decide.
func (s *settler) done(ctx context.Context, n name) bool {
	c := s.any()
	r := c.call(ctx, http.MethodGet, "/v1/tickets/"+n.path(), nil, 0)
	switch {
	case r.status == http.StatusNotFound:
		return true
	case r.status != http.StatusOK || r.Ticket == nil:
		return false
	case r.Ticket.Damaged != "":
		c.call(ctx, http.MethodPost, "/v1/tickets/"+n.path()+"/reopen", body(map[string]any{"reason": "it is damaged"}), 0)
		return false
	case r.Ticket.State == "FAILED":
		return !s.unsettled(ctx, c, n, r.Ticket, "dead")
	case r.Ticket.terminal():
		return true
	case r.Ticket.State != "NOTIFYING":
		s.resume(ctx, c, n)
		return false
	}
	s.unsettled(ctx, c, n, r.Ticket, "parked")
	return false
}

// unsettled decides about the channels of a ticket in a status, and reports whether there are any.
func (s *settler) unsettled(ctx context.Context, c *caller, n name, t *ticket, status string) (found bool) {
	for channel, d := range t.Delivery {
		if d.Status == status {
			key := fmt.Sprintf("%q", n.path())
			if t.Run > 1 {
				key = fmt.Sprintf("%q", fmt.Sprintf("%s~%d", n.path(), t.Run))
			}
			s.decide(ctx, c, n, channel, key)
			found = true
		}
	}
	return found
}

// resume takes a ticket over and goes on where it stands, to its end or until people are to be told.
func (s *settler) resume(ctx context.Context, c *caller, n name) {
	const wait = 2 * time.Second
	r := c.call(ctx, http.MethodPost, "/v1/claims", body(map[string]any{"asset": n.asset, "task": n.task, "heartbeat": "10s", "wait": wait.String()}), wait)
	if r.Claim == nil {
		return
	}
	claim := "/v1/claims/" + r.Claim.ID
	for range 10 { // a flow has fewer steps
		if r.status == 0 || r.status >= http.StatusBadRequest || len(r.Next) == 0 {
			break
		}
		next := r.Next[rand.IntN(len(r.Next))]
		switch next.Step {
		case "finish":
			c.call(ctx, http.MethodPost, claim+"/finish", body(map[string]any{"summary": "done at the end"}), 0)
			return
		case "notify":
			words := fmt.Sprintf("%s in run %d", n.asset, r.Ticket.Run)
			r = c.call(ctx, http.MethodPost, claim+"/notification", body(map[string]any{"title": words, "text": words, "severity": "high"}), 0)
		default:
			state := next.States[rand.IntN(len(next.States))]
			r = c.call(ctx, http.MethodPost, claim+"/steps", body(map[string]any{"step": next.Step, "state": state, "facts": map[string]any{"of": n.asset}}), 0)
		}
	}
	c.call(ctx, http.MethodDelete, claim, nil, 0)
}

// sendable are the intents that some host has still to send. For one that is only staged, whose grant is the newest, it lets somebody take
// the asset over.
func (s *settler) sendable(ctx context.Context) (left []string) {
	for _, c := range s.callers {
		r := c.call(ctx, http.MethodGet, "/v1/outbox", nil, 0)
		if r.status != http.StatusOK {
			left = append(left, fmt.Sprintf("%s answers %d", c.host, r.status))
		}
		for _, in := range r.Intents {
			left = append(left, fmt.Sprintf("%s/%s at %s: %s", in.Asset, in.Task, c.host, in.Status))
			n := name{in.Asset, in.Task}
			if in.Status == "staged" {
				if r := c.call(ctx, http.MethodPost, "/v1/claims", body(map[string]any{"asset": n.asset, "task": n.task, "heartbeat": "3s"}), 0); r.Claim != nil {
					c.call(ctx, http.MethodDelete, "/v1/claims/"+r.Claim.ID, nil, 0)
				}
			}
			for channel, d := range in.Channels {
				if d.Status == "parked" {
					s.decide(ctx, c, n, channel, in.Key)
				}
			}
		}
	}
	return left
}

// decide is a person who looks at the receiver: it arrived, or is to be sent again.
func (s *settler) decide(ctx context.Context, c *caller, n name, channel, key string) {
	what := "retry"
	if s.load.Receivers.Has(channel, key) {
		what = "settle"
	}
	c.call(ctx, http.MethodPost, "/v1/outbox/"+n.path()+"/"+what, body(map[string]any{"reason": "looked at the receiver", "channel": channel}), 0)
}

func (s *settler) any() *caller { return s.callers[rand.IntN(len(s.callers))] }

// read reads what is true at the end.
func (s *settler) read(names []name) {
	ctx, wg, turns := context.Background(), sync.WaitGroup{}, make(chan name)
	for _, c := range s.callers {
		wg.Go(func() {
			for n := range turns {
				c.call(ctx, http.MethodGet, "/v1/tickets/"+n.path(), nil, 0)
				c.call(ctx, http.MethodGet, "/v1/tickets/"+n.path()+"/history", nil, 0)
			}
			c.call(ctx, http.MethodGet, "/v1/claims", nil, 0)
			c.call(ctx, http.MethodGet, "/v1/outbox", nil, 0)
		})
	}
	for _, n := range names {
		turns <- n
	}
	close(turns)
	wg.Wait()
	s.any().call(ctx, http.MethodGet, "/v1/hosts", nil, 0)
}
