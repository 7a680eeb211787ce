// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// twoHosts are hosts with a daemon each, started, and a lock's TTL.
func twoHosts(t *testing.T, ttl time.Duration) (a, b *crashHost, server *redistest.Server) {
	t.Helper()
	server = redistest.Start(t)
	a, b = newCrashHost(t, "host-a", server, nil), newCrashHost(t, "host-b", server, nil)
	for _, h := range []*crashHost{a, b} {
		h.config.Lock.TTL = Duration(ttl)
		h.start(t, "")
	}
	return a, b, server
}

// waits is a claim of an asset by the process that asks, which waits for it as long as a test may take.
func waits(asset string) client.ClaimRequest {
	return client.ClaimRequest{Asset: asset, Task: theTask, Wait: "1m"}
}

// freeze is a host with an agent, and who of them is stopped.
type freeze struct {
	what                 string
	agent, daemon, redis bool
	heartbeat            string

	server  *redistest.Server
	host    *crashHost
	process *agentProcess
	claim   client.Claim
}

func (f *freeze) begin(t *testing.T) {
	t.Helper()
	f.signal(t, syscall.SIGSTOP)
	if f.redis {
		f.server.Freeze()
	}
}

func (f *freeze) end(t *testing.T) {
	t.Helper()
	if f.redis {
		f.server.Thaw()
	}
	f.signal(t, syscall.SIGCONT)
}

func (f *freeze) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if f.agent {
		f.process.signal(t, s)
	}
	if f.daemon {
		f.host.signal(t, s)
	}
}

// TestG1_AFreezeShorterThanTheTTLLosesNothing: a renewal falls into it, the heartbeat's time runs out in it, and a write is called
// for in it. Afterwards the claim is held, with its token, and is renewed: it lives on for longer than its lock.
func TestG1_AFreezeShorterThanTheTTLLosesNothing(t *testing.T) {
	t.Parallel()
	const ttl, long = 9 * time.Second, 3200 * time.Millisecond // trusted for 7.2 s, renewed after 3 s; a call asks Redis for 4 s
	all := []*freeze{
		{what: "agent", agent: true, heartbeat: "30s"},
		{what: "daemon", daemon: true, heartbeat: "3s"},
		{what: "agent and daemon", agent: true, daemon: true, heartbeat: "3s"},
		{what: "Redis", redis: true, heartbeat: "3s"},
	}
	for _, f := range all {
		f.server = redistest.Start(t)
		f.host = newCrashHost(t, "host-a", f.server, nil)
		f.host.config.Lock.TTL = Duration(ttl)
		f.host.start(t, "")
		f.process = newAgent(t, f.host)
	}
	for _, f := range all {
		f.claim = f.process.claims(t, client.ClaimRequest{
			Asset: theAsset, Task: theTask, PID: f.process.cmd.Process.Pid, Heartbeat: f.heartbeat,
		}, 200*time.Millisecond)
		f.begin(t)
		f.process.tell(t, order{Step: &client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline}})
	}
	expired := time.After(ttl)
	time.Sleep(long)
	for _, f := range all {
		f.end(t)
	}
	for _, f := range all {
		got := f.process.says(t)
		if late := f.redis && got.Problem != nil && got.Problem.Code == client.StoreUnavailable; got.Error != "" && !late {
			t.Errorf("%s: the write in the freeze: %s", f.what, got.Error)
		}
	}
	<-expired
	for _, f := range all {
		f.host.wantHeld(t, f.claim)
		f.process.records(t) // again: replayed
		if n := count(wholeHistory(t, f.host.client, theAsset), "step"); n != 1 {
			t.Errorf("%s: the step is recorded %d times", f.what, n)
		}
	}
}

// takeover has an agent of host b wait for the asset that an agent of host a holds, and returns what is undone when the one who was
// frozen wakes: the ticket as it must stay.
func takeover(t *testing.T, b *crashHost, was client.Claim) (unchanged func()) {
	t.Helper()
	other := newAgent(t, b)
	got := other.claims(t, waits(was.Asset), 0)
	if got.Token <= was.Token {
		t.Errorf("the next token is %d, after %d", got.Token, was.Token)
	}
	other.records(t)
	read := func() client.Ticket {
		ticket, err := b.client.Ticket(t.Context(), was.Asset, theTask)
		if err != nil {
			t.Fatal(err)
		}
		if ticket.Holder != nil {
			ticket.Holder.RemainingMS = 0
		}
		return ticket
	}
	before := read()
	return func() {
		t.Helper()
		if after := read(); !reflect.DeepEqual(after, before) || after.State != client.StateAssetOnline {
			t.Errorf("the ticket was %+v, and is %+v", before, after)
		}
		b.wantHeld(t, got)
		other.records(t)
	}
}

// TestG2_AFreezePastTheTTL: another host has the asset then, and what the one that wakes writes is refused, with the reason, and
// changes nothing.
func TestG2_AFreezePastTheTTL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ agent, daemon bool }{
		"daemon": {daemon: true}, "agent and daemon": {agent: true, daemon: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, _ := twoHosts(t, 12*time.Second)
			agent := newAgent(t, a)
			held := agent.claims(t, client.ClaimRequest{Asset: theAsset, Task: theTask}, 0)
			if test.agent {
				agent.signal(t, syscall.SIGSTOP)
			}
			a.signal(t, syscall.SIGSTOP)
			agent.tell(t, offline) // is on its way to the daemon when that wakes
			unchanged := takeover(t, b, held)
			a.signal(t, syscall.SIGCONT)
			if test.agent {
				agent.signal(t, syscall.SIGCONT)
			}
			agent.says(t).wantRefused(t, client.ReasonExpired, client.ReasonTaken)
			agent.tell(t, offline)
			agent.says(t).wantRefused(t, client.ReasonExpired, client.ReasonTaken)
			a.wantLost(t, held, client.ReasonExpired, client.ReasonTaken)
			unchanged()
		})
	}
}

// TestG8_ARedisFrozenPastTheTTL: the claim is lost while Redis still sleeps, before anyone else can have the asset.
func TestG8_ARedisFrozenPastTheTTL(t *testing.T) {
	t.Parallel()
	a, b, server := twoHosts(t, 12*time.Second)
	agent := newAgent(t, a)
	held := agent.claims(t, client.ClaimRequest{Asset: theAsset, Task: theTask}, 0)
	server.Freeze()
	a.wantLost(t, held, client.ReasonExpired)
	agent.tell(t, offline)
	agent.says(t).wantRefused(t, client.ReasonExpired)
	server.Thaw()
	unchanged := takeover(t, b, held)
	agent.tell(t, offline)
	agent.says(t).wantRefused(t, client.ReasonExpired)
	unchanged()
}

// TestF2_AHungAgent loses its claim though its process lives and its daemon is well: by its heartbeat, or, if it promised none, by
// its max_hold and not before.
func TestF2_AHungAgent(t *testing.T) {
	t.Parallel()
	a, b, _ := twoHosts(t, 12*time.Second)
	for name, test := range map[string]struct {
		ask    client.ClaimRequest
		beat   time.Duration
		held   time.Duration // for so long it is not lost
		reason string
	}{
		"heartbeat": {
			ask: client.ClaimRequest{Asset: "beats", Heartbeat: "1s"}, beat: 100 * time.Millisecond, reason: client.ReasonSilent,
		},
		"heartbeat and process": {
			ask: client.ClaimRequest{Asset: "both", Heartbeat: "1s", PID: 1}, beat: 100 * time.Millisecond, reason: client.ReasonSilent,
		},
		"process": {
			ask: client.ClaimRequest{Asset: "process", MaxHold: "25s"}, held: 15 * time.Second, reason: client.ReasonMaxHold,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, a)
			if test.ask.PID != 0 {
				test.ask.PID = agent.cmd.Process.Pid
			}
			test.ask.Task = theTask
			held := agent.claims(t, test.ask, test.beat)
			agent.signal(t, syscall.SIGSTOP)
			agent.tell(t, offline)
			if test.held > 0 {
				time.Sleep(test.held)
				a.wantHeld(t, held)
				_, err := b.client.Claim(t.Context(), client.ClaimRequest{Asset: held.Asset, Task: theTask, Heartbeat: "1m"})
				wantCode(t, err, client.LockHeld)
			}
			unchanged := takeover(t, b, held)
			a.wantLost(t, held, test.reason)
			agent.signal(t, syscall.SIGCONT)
			agent.says(t).wantRefused(t, test.reason)
			unchanged()
		})
	}
}

// TestF1_ADeadAgentsLockIsNotRenewed: it is freed at once, though its TTL is ten minutes, and its daemon lives.
func TestF1_ADeadAgentsLockIsNotRenewed(t *testing.T) {
	t.Parallel()
	a, b, _ := twoHosts(t, 10*time.Minute)
	agent := newAgent(t, a)
	held := agent.claims(t, client.ClaimRequest{Asset: theAsset, Task: theTask}, 0)
	second := agent.claims(t, client.ClaimRequest{Asset: "web-02", Task: theTask}, 0)
	agent.kill()
	for _, c := range []client.Claim{held, second} {
		takeover(t, b, c)()
		a.wantLost(t, c, client.ReasonProcessExit)
	}
	_, err := a.client.Heartbeat(t.Context(), held.ID)
	wantCode(t, err, client.ClaimLost)
}

// TestF7_AFreezeBetweenLockAndGrant: the lock of one who waited runs out before it has a grant, and another takes the asset. The one
// that wakes is granted nothing on a lock that it has no more; what it is granted in the end is good.
func TestF7_AFreezeBetweenLockAndGrant(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := newCrashHost(t, "host-a", server, nil), newCrashHost(t, "host-b", server, nil)
	a.config.Lock.TTL, b.config.Lock.TTL = Duration(time.Minute), Duration(time.Second)
	a.start(t, "")
	first := newAgent(t, a)
	first.claims(t, client.ClaimRequest{Asset: theAsset, Task: theTask}, 0)
	b.start(t, "")
	b.dieAt(t, "hold mint")
	waiter, ask := newAgent(t, b), waits(theAsset)
	waiter.tell(t, order{Claim: &ask})
	eventually(t, "it waits", func() bool { return strings.Contains(metricsOf(b), "picket_claims_waiting 1") })
	first.kill()
	b.holds(t)
	b.signal(t, syscall.SIGSTOP)
	second := newAgent(t, a)
	taken := second.claims(t, waits(theAsset), 0)
	b.dieAt(t, "") // it goes on
	b.signal(t, syscall.SIGCONT)
	time.Sleep(time.Second) // what it would be given wrongly, it is given now
	a.wantHeld(t, taken)
	second.records(t)
	second.kill()
	switch got := waiter.says(t); {
	case got.Claim != nil:
		if got.Claim.Token <= taken.Token {
			t.Errorf("it was granted token %d, after %d", got.Claim.Token, taken.Token)
		}
		waiter.records(t)
	case got.Problem == nil || got.Problem.Code != client.StoreUnavailable: // which it says after a longer freeze
		t.Errorf("it got %q", got.Error)
	}
}
