// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/picketd/picket/sockapi/client"
)

// An agent claims an asset, records that it is offline, and finishes.
func Example() {
	socket, stop := pretend() // in an agent: "/run/picket/picket.sock"
	defer stop()

	ctx := context.Background()
	picket := client.New(socket)
	got, err := picket.Claim(ctx, client.ClaimRequest{Asset: "web-01", Task: "w48", Wait: "1m"})
	var problem *client.Problem
	switch {
	case errors.As(err, &problem) && problem.Code == client.LockHeld:
		fmt.Println("somebody else is at it:", problem.Holder.Host)
		return
	case err != nil:
		fmt.Println(err)
		return
	case got.Claim == nil:
		fmt.Println("done already:", got.Ticket.State)
		return
	}
	if _, recorded := got.Ticket.Steps[client.StepOnline]; !recorded { // what an earlier claim recorded need not be done again
		_, err = picket.Step(ctx, got.Claim.ID, client.StepRequest{
			Step: client.StepOnline, State: client.StateAssetOffline, Facts: json.RawMessage(`{"ports":[]}`),
		})
		if err != nil {
			fmt.Println(err) // the claim may be lost: then nothing was written
			return
		}
	}
	ticket, err := picket.Finish(ctx, got.Claim.ID, "nobody home")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ticket.ID, ticket.State)
	// Output: web-01/w48 FINISHED
}

// pretend stands in for the daemon.
func pretend() (socket string, stop func()) {
	dir, err := os.MkdirTemp("", "picket")
	if err != nil {
		panic(err)
	}
	socket = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	ticket := client.Ticket{ID: "web-01/w48", State: client.StateInit}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/claims", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(client.ClaimResponse{Claim: &client.Claim{ID: "c1"}, Ticket: ticket})
	})
	mux.HandleFunc("POST /v1/claims/c1/steps", func(w http.ResponseWriter, _ *http.Request) {
		ticket.State = client.StateAssetOffline
		_ = json.NewEncoder(w).Encode(client.StepResponse{Ticket: ticket})
	})
	mux.HandleFunc("POST /v1/claims/c1/finish", func(w http.ResponseWriter, _ *http.Request) {
		ticket.State = client.StateFinished
		_ = json.NewEncoder(w).Encode(client.TicketBody{Ticket: ticket})
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(ln) }()
	return socket, func() {
		_ = server.Close()
		_ = os.RemoveAll(dir)
	}
}
