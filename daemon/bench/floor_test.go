// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestFloorDoesTheSequence: the scripts and their arguments are still what the floor takes them for.
func TestFloorDoesTheSequence(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "floor-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, addr := filepath.Join(dir, "s"), redistest.Start(t).Addr()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- serveFloor(ctx, addr, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := await(t.Context(), "the floor", "unix", socket); err != nil {
		t.Fatal(err)
	}
	c := client.New(socket)
	if err := sequence(t.Context(), c, "a.example", task); err != nil {
		t.Fatal(err)
	}
	got, err := c.Ticket(t.Context(), "a.example", task)
	if err != nil || got.State != client.StateFinished || got.Revision != 6 || got.HighRisk == nil || *got.HighRisk || string(got.Steps[client.StepVuln].Facts) != string(steps[1].Facts) {
		t.Errorf("got %+v, %v", got, err)
	}
}
