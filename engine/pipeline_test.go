// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestPipelineGivesEachCallItsOwnReply also when Redis has forgotten the scripts.
func TestPipelineGivesEachCallItsOwnReply(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("host-a")
	server.Client().ScriptFlush(t.Context())
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			id := TicketID{Asset(fmt.Sprintf("host-%d", i)), "t"}
			r, err := e.Claim(t.Context(), ask(string(id.Asset), id.Task))
			if err != nil || r.Ticket.ID != id || r.Ticket.State != Init {
				t.Errorf("%s: got %+v, %v", id, r.Ticket, err)
				return
			}
			if i%10 == 0 {
				server.Client().ScriptFlush(t.Context())
			}
			w, err := e.Step(t.Context(), r.Claim.ID, agent, StepRequest{Step: "online", State: AssetOnline, Summary: id.String()})
			if err != nil || w.Ticket.Summary != id.String() || w.Ticket.Token != r.Claim.Token {
				t.Errorf("%s: got %+v, %v", id, w.Ticket, err)
			}
		})
	}
	group.Wait()
	e.scripts.wait()
	if len(e.scripts.waiting) != 0 {
		t.Errorf("%d calls still wait", len(e.scripts.waiting))
	}
}

// TestPipelineKeepsTheContextOfEachCall: who waits for a trip waits no longer than its context lets it, and the others get
// their replies all the same.
func TestPipelineKeepsTheContextOfEachCall(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.host("host-a")
	read := func(ctx context.Context) error {
		_, err := e.scripts.run(ctx, readScript, e.keys.all(TicketID{"a", "t"}), e.args(TicketID{"a", "t"}, 0, "", "", ""))
		return err
	}
	if err := read(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	var group sync.WaitGroup
	for range tripsMost {
		group.Go(func() { _ = read(t.Context()) })
	}
	for e.scripts.underWay() < tripsMost {
		time.Sleep(time.Millisecond)
	}
	patient := make(chan error)
	go func() {
		_, err := e.read(t.Context(), TicketID{"a", "t"})
		patient <- err
	}()
	left, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := read(left); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := read(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	server.Thaw()
	if err := <-patient; err != nil {
		t.Errorf("who went on waiting got %v", err)
	}
	group.Wait()
}

func (p *pipeline) underWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}
