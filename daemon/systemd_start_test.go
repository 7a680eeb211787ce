// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// killed ends a daemon without a word.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// knowsRenewal leaves redsync's script in Redis, as renewals do. Without it all claims would first hear that it is not there.
func knowsRenewal(t *testing.T, server *redistest.Server) {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer db.Close()
	lock := redsync.New(goredis.NewPool(db)).NewMutex("renewed")
	if err := lock.LockContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExtendContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestF26_ReadyComesAfterAdoptionHoweverLongThatTakes: Redis answers slowly, there are many claims, and systemd is asked for more time
// as long as they are taken up. When it is told READY, every one of them can be used.
func TestF26_ReadyComesAfterAdoptionHoweverLongThatTakes(t *testing.T) { // alone, as a daemon that is starved takes nothing up
	const claims = 800
	server := redistest.Start(t)
	knowsRenewal(t, server)
	proxy := redistest.Proxy(t, server.Addr())
	m := newManager(t, proxy.Addr())
	addToConfig(t, m, "[lock]\nttl = \"10m\"\n")
	agent := client.New(filepath.Join(m.dir, "passed.sock"))
	defer agent.CloseIdleConnections()
	daemon := m.start(t)
	ids := make([]string, claims)
	var work sync.WaitGroup
	for part := range 8 {
		work.Go(func() {
			for i := part; i < claims; i += 8 {
				got, err := agent.Claim(t.Context(), client.ClaimRequest{Asset: fmt.Sprintf("a-%d", i), Task: "t", Heartbeat: "1h"})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = got.Claim.ID
			}
		})
	}
	work.Wait()
	if t.Failed() {
		return
	}
	killed(t, daemon)
	for m.hears(t) != "READY=1" { // of the first start
		continue
	}

	proxy.Delay(300 * time.Millisecond) // with 64 connections: some seconds
	begun := time.Now()
	daemon = m.start(t)
	extended := 0
	for word := m.hears(t); word != "READY=1"; word = m.hears(t) {
		if !strings.HasPrefix(word, "EXTEND_TIMEOUT_USEC=") {
			t.Fatalf("systemd was told %q", word)
		}
		extended++
	}
	if took := time.Since(begun); took < settingsLimit || extended < 2 {
		t.Errorf("READY came after %s, and more time was asked for %d times: the claims cannot have been taken up", took, extended)
	}
	proxy.Delay(0)
	for _, id := range ids {
		if c, err := agent.GetClaim(t.Context(), id); err != nil || c.Status != client.StatusHeld {
			t.Fatalf("after READY a claim is %s, %v", describe(c), err)
		}
	}
	killed(t, daemon)
}

// TestF26_ReadyDoesNotWaitForTheOutbox: what is to be sent hangs for as long as its time-out lets it.
func TestF26_ReadyDoesNotWaitForTheOutbox(t *testing.T) {
	t.Parallel()
	m := newManager(t, "unix://"+redistest.Start(t).SocketPath())
	hangs := fmt.Sprintf("[\"/usr/bin/tail\", \"--follow\", \"--pid=%d\", \"/dev/null\"]", os.Getpid()) // as long as this test runs
	addToConfig(t, m, "[[channel]]\nname = \"slow\"\ntype = \"exec\"\ncommand = "+hangs+"\ntimeout = \"5m\"\n")
	agent := client.New(filepath.Join(m.dir, "passed.sock"))
	defer agent.CloseIdleConnections()
	daemon := m.start(t)
	got, err := agent.Claim(t.Context(), client.ClaimRequest{Asset: "a", Task: "t", Heartbeat: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone}, {Step: client.StepAssess, State: client.StateHighRiskFound},
	} {
		if _, err := agent.Step(t.Context(), got.Claim.ID, step); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := agent.Notify(t.Context(), got.Claim.ID, client.NotificationRequest{Title: "t", Text: "x", Severity: client.SeverityHigh}, 0); err != nil {
		t.Fatal(err)
	}
	killed(t, daemon)
	if word := m.told(t); word != "READY=1" { // of the first start
		t.Fatalf("systemd was told %q", word)
	}
	daemon = m.start(t)
	if word := m.told(t); word != "READY=1" {
		t.Errorf("systemd was told %q", word)
	}
	if s, err := agent.Status(t.Context()); err != nil || s.Outbox.Ready != 1 {
		t.Errorf("the outbox has %d ready, want 1: %v", s.Outbox.Ready, err)
	}
	killed(t, daemon)
}

// TestSystemdsWatchdogHearsOfTheRenewalLoop, with Redis and without; not of a daemon that is stopped.
func TestSystemdsWatchdogHearsOfTheRenewalLoop(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	m := newManager(t, "unix://"+redis.SocketPath())
	daemon := m.start(t, "WATCHDOG_USEC=2000000")
	for ready, seen := false, 0; !ready || seen < 3; {
		switch m.told(t) {
		case "WATCHDOG=1":
			seen++
		case "READY=1":
			ready = true
		}
	}
	redis.Kill()
	for range 6 { // one may have been under way
		if word := m.told(t); word != "WATCHDOG=1" {
			t.Errorf("systemd was told %q", word)
		}
	}
	if err := daemon.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := m.notified.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	words := 0
	for buf := make([]byte, 1024); ; words++ {
		if _, err := m.notified.Read(buf); err != nil {
			break
		}
	}
	if words > 1 { // sent before it stopped
		t.Errorf("a daemon that is stopped told systemd %d words", words)
	}
	killed(t, daemon)
}

func addToConfig(t *testing.T, m *manager, more string) {
	t.Helper()
	doc, err := os.ReadFile(m.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.config, append(doc, more...), 0o600); err != nil {
		t.Fatal(err)
	}
}
