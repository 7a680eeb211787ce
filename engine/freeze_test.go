// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

const freezeEnv = "PICKET_TEST_FREEZE" // the address of Redis, for the process that is frozen

// TestG10_AFreezeIsNoOutage: a daemon that stands still while its question is out reads the answer when it wakes.
func TestG10_AFreezeIsNoOutage(t *testing.T) {
	if addr := os.Getenv(freezeEnv); addr != "" {
		askOnceTold(t, addr)
		return
	}
	t.Parallel()
	server := redistest.Start(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), freezeEnv+"="+server.Addr())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := func(prefix string) string {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), prefix) {
				return lines.Text()
			}
		}
		t.Fatalf("the process did not say %s", prefix)
		return ""
	}
	said("ready")
	server.Freeze()
	fmt.Fprintln(in, "ask")
	time.Sleep(500 * time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	server.Thaw()
	time.Sleep(store.AwayAfter + time.Second)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	if got := said("verdict"); got != fmt.Sprintf("verdict %d, error <nil>", outbox.Go) {
		t.Errorf("Redis was there all the time: %s", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func askOnceTold(t *testing.T, addr string) {
	c := client(addr)
	defer func() { _ = c.Close() }()
	e := (&fleet{t, c, "picket"}).host("host-a", func(c *Config) { c.TTL = time.Minute })
	k, _ := claimed(t, e, "frozen", "t")
	in := notified(t, e, k, "ops")
	eventually(t, "it has signed", func() bool { return e.lookout.Unbroken(time.Now()) })
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	a, err := e.Attempt(t.Context(), attempt(e, k.Ticket, in, "ops", 1))
	fmt.Printf("verdict %d, error %v\n", a.Verdict, err)
}

// TestG10_NobodySendsAloneWhatAnotherMayHaveTakenOver: without an answer only that goes out which was staged while this run gave its
// signs of life without a break, or a moment ago.
func TestG10_NobodySendsAloneWhatAnotherMayHaveTakenOver(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.frozen("host-a", func(c *Config) { c.TTL = time.Minute })
	e.lookout.Pace.Every = time.Second // for a sign to be answered
	skipped := time.Duration(0)
	e.now = func() time.Duration { return process.Boottime() + skipped }
	k, _ := claimed(t, e, "old", "t")
	in := notified(t, e, k, "ops")

	server.Freeze()
	old := attempt(e, k.Ticket, in, "ops", 1)
	old.At = time.Now().Add(-e.lookout.Pace.Life)
	_, err := e.Attempt(t.Context(), old)
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, outbox.ErrAway) {
		t.Errorf("a run that never signed is told %v", err)
	}
	if err := e.lookout.Sign(t.Context()); !errors.Is(err, store.ErrNoAnswer) || e.lookout.Unbroken(time.Now().Add(-e.lookout.Pace.Life)) {
		t.Errorf("a sign that was not written counts: %v", err)
	}
	server.Thaw()
	before := time.Now().Add(-e.lookout.Pace.Life)
	sign := func() {
		t.Helper()
		if err := e.lookout.Sign(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sign()
	if e.lookout.Unbroken(before) || !e.lookout.Unbroken(time.Now()) {
		t.Error("only what was staged after the first sign may go out alone")
	}

	for range 4 {
		skipped += e.lookout.Pace.Life / 2
		sign()
	}
	between := time.Now().Add(-e.lookout.Pace.Life) // longer ago than any sign lives
	server.Freeze()
	for range 6 { // an outage, awake
		skipped += e.lookout.Pace.Life / 2
		if err := e.lookout.Sign(t.Context()); !errors.Is(err, store.ErrNoAnswer) {
			t.Fatal(err)
		}
	}
	if !e.lookout.Unbroken(between) {
		t.Error("a long outage makes the living silent")
	}
	skipped += e.lookout.Pace.Life // asleep
	if e.lookout.Unbroken(between) {
		t.Error("a daemon that woke sends alone")
	}
	if err := e.lookout.Sign(t.Context()); !errors.Is(err, store.ErrNoAnswer) || e.lookout.Unbroken(between) {
		t.Errorf("a daemon that woke sends alone after it asked in vain: %v", err)
	}
	server.Thaw()
	sign()
	if e.lookout.Unbroken(between) || !e.lookout.Unbroken(time.Now()) {
		t.Error("after a break only what is staged from then on may go out alone")
	}
}
