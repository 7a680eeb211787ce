// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestPipelineGivesEachCallItsOwnReply also when Redis has forgotten the scripts.
func TestPipelineGivesEachCallItsOwnReply(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := over(t, server.Client())
	server.Client().ScriptFlush(t.Context())
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			id := TicketID{Asset(fmt.Sprintf("host-%d", i)), "t"}
			by := Writer{Nonce: id.String(), Agent: "1/1", Number: 1}
			s.c.Redis.Set(t.Context(), s.Keys.Lock(id.Asset), by.Nonce, time.Minute)
			m, err := s.Mint(t.Context(), id, by, AssetInference)
			if err != nil || m.Code != OK || m.State() != Init {
				t.Errorf("%s: got %+v, %v", id, m, err)
				return
			}
			if i%10 == 0 {
				server.Client().ScriptFlush(t.Context())
			}
			by.Token = m.Token
			w, err := s.Step(AssetInference, m.Token, "online", AssetOnline, []byte("{}"), id.String())
			if err != nil {
				t.Error(err)
				return
			}
			got, err := s.WriteClaim(t.Context(), id, by, w, "")
			ticket, _ := s.Complete(t.Context(), id, got.Hash, got.Recorded)
			if err != nil || ticket.Summary != id.String() || ticket.Token != m.Token {
				t.Errorf("%s: got %+v, %v", id, ticket, err)
			}
		})
	}
	group.Wait()
	s.scripts.wait()
	if len(s.scripts.waiting) != 0 {
		t.Errorf("%d calls still wait", len(s.scripts.waiting))
	}
}

// TestPipelineKeepsTheContextOfEachCall: who waits for a trip waits no longer than its context lets it, and the others get
// their replies all the same.
func TestPipelineKeepsTheContextOfEachCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := over(t, server.Client())
	id := TicketID{"a", "t"}
	read := func(ctx context.Context) error {
		_, err := s.scripts.run(ctx, readScript, s.Keys.all(id), s.args(id, Writer{}, "", ""))
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
	for s.scripts.underWay() < tripsMost {
		time.Sleep(time.Millisecond)
	}
	patient := make(chan error)
	go func() {
		_, err := s.Read(t.Context(), id)
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
