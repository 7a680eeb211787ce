// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/stage"
)

// TestMain runs the tests in namespaces, and is the program whose subcommand agent the load runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(Agent(os.Args[2:]))
	}
	if os.Geteuid() == 0 {
		if err := stage.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestLoad has all work for a while, with agents that are killed, and comes to rest: every call has a name of its own, every ticket
// ends, and all kinds of work have left their traces.
func TestLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make namespaces")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	picket := filepath.Join("/tmp", fmt.Sprint("picket-load-test-", os.Getpid()))
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", picket, "github.com/picketd/picket/daemon/cmd/picket").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { os.Remove(picket) })
	path := filepath.Join(t.TempDir(), "history")
	log, err := history.Open(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	receivers, err := Receive(stage.Address, log)
	if err != nil {
		t.Fatal(err)
	}
	defer receivers.Close()
	const ttl = 2 * time.Second
	s, err := stage.Start(ctx, stage.Options{
		Topology: "standalone", Dir: t.TempDir(), Picket: picket, Seed: 7, TTL: ttl, Log: log, Channels: receivers.Channels(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	l, err := Start(ctx, s, Options{Log: log, Seed: 7, Picket: picket, TTL: ttl, Receivers: receivers})
	if err != nil {
		t.Fatal(err)
	}
	for _, mood := range Moods {
		receivers.Mood("once", mood)
		time.Sleep(2 * time.Second)
		for _, p := range l.Processes() {
			if p.Kind == "agent" {
				p.Kill()
				break
			}
		}
	}
	receivers.Mood("once", Moods[0])
	if err := l.Settle(ctx); err != nil {
		t.Error(err)
	}
	records, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkRecords(t, records)
}

func checkRecords(t *testing.T, records []history.Record) {
	t.Helper()
	calls, seen, states := map[string]string{}, map[string]bool{}, map[string]string{}
	for _, r := range records {
		switch {
		case r.Call != nil:
			if calls[r.Call.ID] != "" {
				t.Fatalf("two calls are %s", r.Call.ID)
			}
			calls[r.Call.ID] = r.Call.Path
			kind, _, _ := strings.Cut(r.By, " ")
			seen["call of "+kind] = true
		case r.Answer != nil && r.By == "final":
			var a answer
			_ = json.Unmarshal(r.Answer.Body, &a)
			if path := calls[r.Answer.ID]; a.Ticket != nil && path == "/v1/tickets/"+(name{a.Ticket.Asset, a.Ticket.Task}).path() {
				states[path] = a.Ticket.State
			}
		case r.Process != nil:
			seen["process of "+r.Process.Kind] = true
			seen[r.Process.Detail] = true
		case r.Sending != nil:
			seen[fmt.Sprint("sending answered ", r.Sending.Status)] = true
		}
	}
	for path, state := range states {
		if state != "FINISHED" && state != "FAILED" {
			t.Errorf("%s is %s", path, state)
		}
	}
	if len(states) < 20 {
		t.Errorf("%d tickets", len(states))
	}
	for _, what := range []string{
		"call of agent", "call of command", "call of final", "process of agent", "process of exec", "process of run", "begin", "sign", "end",
		"sleep", "signal: killed", "sending answered 200", "sending answered 500",
	} {
		if !seen[what] {
			t.Errorf("there is no %s", what)
		}
	}
}
