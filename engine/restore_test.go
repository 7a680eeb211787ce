// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// run starts an engine on a state folder, waits until it has taken up what was left, and returns what stops it. An engine that
// is stopped frees no lock, as one that is killed.
func (f *fleet) run(folder string, change ...func(*Config)) (*Engine, func()) {
	f.t.Helper()
	e := f.frozen("host-a", append(change, func(c *Config) { c.StateDir = folder })...)
	e.Start()
	select {
	case <-e.Restored():
	case <-time.After(patience):
		f.t.Fatal("claims are not taken up")
	}
	return e, func() {
		if err := e.Stop(context.Background()); err != nil {
			f.t.Error(err)
		}
	}
}

func child(t *testing.T) (pid int, kill func()) {
	t.Helper()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(kill)
	return c.Process.Pid, kill
}

func byProcess(t *testing.T, e *Engine, asset store.Asset, pid int) *Claim {
	t.Helper()
	r, err := e.Claim(t.Context(), ClaimRequest{Asset: asset, Task: "t", PID: pid, Peer: Peer{UID: 0, PID: pid}})
	if err != nil || r.Claim == nil {
		t.Fatalf("got %+v, %v", r, err)
	}
	return r.Claim
}

// TestG1_ClaimsOutliveTheDaemon: the next run has the same claims, tokens and locks, renews them and writes under them; those
// whose agents ended meanwhile are freed, and those that another took are told so.
func TestG1_ClaimsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder, short)
	alive, _ := child(t)
	dead, kill := child(t)
	stays, ends, beats, taken := byProcess(t, e, "stays", alive), byProcess(t, e, "ends", dead), func() *Claim {
		c, _ := claimed(t, e, "beats", "t")
		return c
	}(), byProcess(t, e, "taken", alive)
	if err := e.Release(t.Context(), byProcess(t, e, "released", alive).ID, 0); err != nil {
		t.Fatal(err)
	}
	stop()
	kill()
	f.client.Set(t.Context(), e.store.Keys.Lock("taken"), "somebody", time.Minute)

	e, stop = f.run(folder, short)
	if list := e.Claims(0); len(list) != 2 || list[0].ID != stays.ID || list[0].Token != stays.Token || list[1].ID != beats.ID {
		t.Errorf("the next run holds %+v", list)
	}
	time.Sleep(shortTTL)
	if _, err := e.Step(t.Context(), stays.ID, 0, StepRequest{Step: "online", State: store.AssetOnline}); err != nil {
		t.Errorf("a claim that was taken up again: %v", err)
	}
	for id, want := range map[string]Reason{ends.ID: ReasonProcessExit, taken.ID: ReasonTaken} {
		_, err := e.Heartbeat(t.Context(), id, 0)
		wantLost(t, err, want)
	}
	if f.client.Exists(t.Context(), e.store.Keys.Lock("ends")).Val() != 0 {
		t.Error("the lock of an agent that ended is not freed")
	}
	stop()
	time.Sleep(shortTTL + 100*time.Millisecond)
	e, _ = f.run(folder, short)
	_, err := e.Heartbeat(t.Context(), stays.ID, 0)
	wantLost(t, err, ReasonExpired)
}

// TestAFinishAnswersAsBeforeAfterARestart, and so do a release and a loss.
func TestAFinishAnswersAsBeforeAfterARestart(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	finished, _ := claimed(t, e, "finished", "t")
	if _, err := step(t, e, finished, "online", store.AssetOffline, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(t.Context(), finished.ID, agent, "done"); err != nil {
		t.Fatal(err)
	}
	released, _ := claimed(t, e, "released", "t")
	if err := e.Release(t.Context(), released.ID, agent); err != nil {
		t.Fatal(err)
	}
	forced, _ := claimed(t, e, "forced", "t")
	if err := e.Force(t.Context(), forced.ID, "1/0"); err != nil {
		t.Fatal(err)
	}
	stop()
	e, _ = f.run(folder)
	if ticket, err := e.Finish(t.Context(), finished.ID, agent, "done"); err != nil || ticket.State != store.Finished {
		t.Errorf("finish again: %+v, %v", ticket, err)
	}
	if err := e.Release(t.Context(), released.ID, agent); err != nil {
		t.Errorf("release again: %v", err)
	}
	_, err := e.Heartbeat(t.Context(), forced.ID, agent)
	wantLost(t, err, ReasonForced)
	if list := e.Claims(0); len(list) != 0 {
		t.Errorf("held: %+v", list)
	}
}

// TestADowntimeIsNotTheAgentsSilence: but what it was silent before still counts.
func TestADowntimeIsNotTheAgentsSilence(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	ttl := func(c *Config) { c.TTL, c.StateDir = 10*time.Minute, folder }
	e := f.host("host-a", ttl)
	<-e.Restored()
	r := ask("beats", "t")
	r.Heartbeat = 6 * time.Second
	got, err := e.Claim(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	_ = e.Stop(t.Context())
	time.Sleep(4 * time.Second)
	e = f.host("host-a", ttl)
	<-e.Restored()
	time.Sleep(7 * time.Second) // that it does not serve yet is not the agent's silence either
	e.Serving()
	if v, err := e.GetClaim(got.Claim.ID, agent); err != nil || v.Status != Held {
		t.Fatalf("got %+v, %v", v, err)
	}
	// Of its six seconds some five are left at most. Looks are counted, because time in which all stands still is nobody's silence.
	for range 5500 / 20 {
		if v, _ := e.GetClaim(got.Claim.ID, agent); v.Reason == ReasonSilent {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the silence before the restart is forgotten")
}

// TestF26_AnEndThatTheJournalWasNotToldIsNoLoss, as when the disk was full.
func TestF26_AnEndThatTheJournalWasNotToldIsNoLoss(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	claims := map[string]*Claim{}
	for _, asset := range []string{"released", "finished", "neither"} {
		claims[asset], _ = claimed(t, e, asset, "t")
		if _, err := step(t, e, claims[asset], "online", store.AssetOffline, ""); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	path := e.journal.path
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, stop = f.run(folder)
	if err := e.Release(t.Context(), claims["released"].ID, agent); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Finish(t.Context(), claims["finished"].ID, agent, "done"); err != nil {
		t.Fatal(err)
	}
	stop()
	f.client.Del(t.Context(), e.store.Keys.Lock("neither"))
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	told := &auditLog{}
	e = f.frozen("host-a", func(c *Config) { c.StateDir, c.Audit = folder, told.add })
	e.Start()
	eventually(t, "the one that was lost is told", func() bool {
		return slices.ContainsFunc(told.moves(), func(s string) bool { return strings.Contains(s, string(audit.Lost)) })
	})
	eventually(t, "all are decided about", func() bool {
		for asset, reason := range map[string]Reason{"released": ReasonReleased, "finished": ReasonReleased, "neither": ReasonExpired} {
			if v, err := e.GetClaim(claims[asset].ID, agent); err != nil || v.Reason != reason {
				return false
			}
		}
		return true
	})
	if err := e.Release(t.Context(), claims["released"].ID, agent); err != nil {
		t.Errorf("release again: %v", err)
	}
	if _, err := e.Finish(t.Context(), claims["released"].ID, agent, ""); err == nil {
		t.Error("a release is taken for a finish")
	}
	if ticket, err := e.Finish(t.Context(), claims["finished"].ID, agent, "done"); err != nil || ticket.State != store.Finished {
		t.Errorf("finish again: %+v, %v", ticket, err)
	}
	lost := 0
	for _, move := range told.moves() {
		if strings.Contains(move, string(audit.Lost)) {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d losses are told: %q", lost, told.moves())
	}
}

// TestAdoptionWaitsForRedis: until then calls on the claim say that the store is away, and not that there is no such claim.
func TestAdoptionWaitsForRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	f := &fleet{t, c, "picket"}
	folder := t.TempDir()
	e, stop := f.run(folder)
	pid, _ := child(t)
	k := byProcess(t, e, "away", pid)
	stop()
	proxy.Refuse()
	e = f.host("host-a", func(c *Config) { c.StateDir = folder })
	_, err := e.Heartbeat(t.Context(), k.ID, 0)
	wantErr(t, err, store.ErrUnavailable)
	proxy.Restore()
	<-e.Restored()
	if _, err := e.Heartbeat(t.Context(), k.ID, 0); err != nil {
		t.Error(err)
	}
}

// TestG8_AClaimThatAnotherTookMeanwhileIsNeverToldAsHeld, not even while its daemon, which starts again, asks why it lost it.
func TestG8_AClaimThatAnotherTookMeanwhileIsNeverToldAsHeld(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct, slow := client(server.Addr()), client(server.Addr())
	t.Cleanup(func() { _, _ = direct.Close(), slow.Close() })
	f, folder := &fleet{t, direct, "picket"}, t.TempDir()
	e, stop := f.run(folder)
	pid, _ := child(t)
	k := byProcess(t, e, "x", pid)
	stop()
	b := f.host("host-b")
	letGo(t, b, "x")
	claimed(t, b, "x", "t")

	asked := asks{key: b.store.Keys.Ticket(k.Ticket), begun: make(chan struct{}), answer: make(chan struct{})}
	slow.AddHook(&asked)
	e = (&fleet{t, slow, "picket"}).host("host-a", func(c *Config) { c.StateDir, c.TTL = folder, time.Minute })
	<-asked.begun
	if got, err := e.Heartbeat(t.Context(), k.ID, 0); err == nil {
		t.Errorf("it is told as %s, and trusted for %s", got.Status, got.Trusted)
	}
	close(asked.answer)
	<-e.Restored()
	_, err := e.Heartbeat(t.Context(), k.ID, 0)
	wantLost(t, err, ReasonTaken)
}

// TestG8_ALossThatFinishesATicketIsNoEndOfTheAgentsAfterARestart: the agent of a claim on a NOTIFIED ticket ends while no daemon runs. The
// next one frees the lock, which finishes the ticket in that claim's name.
func TestG8_ALossThatFinishesATicketIsNoEndOfTheAgentsAfterARestart(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	pid, kill := child(t)
	k := byProcess(t, e, "x", pid)
	notified(t, e, k, "ops")
	deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
	stop()
	kill()
	e, _ = f.run(folder)
	c, err := e.claims.get(k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ticket is finished", func() bool { return state(t, e, k.Ticket) == store.Finished })
	if ended, err := e.endedByCall(t.Context(), c); ended || err != nil {
		t.Errorf("a call of the agent's is said to have ended it: %v, %v", ended, err)
	}
	_, err = e.Heartbeat(t.Context(), k.ID, 0)
	wantLost(t, err, ReasonProcessExit)
}

// asks holds up what is asked about a ticket.
type asks struct {
	key           string
	once          sync.Once
	begun, answer chan struct{}
}

func (a *asks) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *asks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a *asks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.ContainsFunc(cmd.Args(), func(arg any) bool { s, ok := arg.(string); return ok && strings.Contains(s, a.key) }) {
			a.once.Do(func() { close(a.begun) })
			<-a.answer
		}
		return next(ctx, cmd)
	}
}

// TestADamagedJournalIsThrownAway: and so is that of another boot.
func TestADamagedJournalIsThrownAway(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	old := filepath.Join(folder, "claims-of-another-boot.db")
	if err := os.WriteFile(old, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, stop := f.run(folder)
	pid, _ := child(t)
	byProcess(t, e, "damaged", pid)
	stop()
	if _, err := os.Stat(old); err == nil {
		t.Error("the journal of another boot is still there")
	}
	files, _ := filepath.Glob(filepath.Join(folder, "claims-*.db"))
	if len(files) != 1 {
		t.Fatalf("journals: %v", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"cut": whole[:len(whole)/3], "empty pages": make([]byte, len(whole)), "noise": bytes.Repeat([]byte("picket"), 5000),
	} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		e, stop := f.run(folder)
		if n := len(e.Claims(0)); n != 0 {
			t.Errorf("%s: %d claims", name, n)
		}
		if _, err := e.Claim(t.Context(), ask("after "+name, "t")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}

// TestAJournalThatIsDamagedWhileTheDaemonRunsIsMadeAnew: with all claims, those from before too.
func TestAJournalThatIsDamagedWhileTheDaemonRunsIsMadeAnew(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	e, stop := f.run(folder)
	var claims []*Claim
	for _, asset := range []string{"a", "b", "c"} {
		c, _ := claimed(t, e, asset, "t")
		claims = append(claims, c)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "claims-*.db"))
	if err := os.Truncate(files[0], 0); err != nil {
		t.Fatal(err)
	}
	later, _ := claimed(t, e, "later", "t")
	stop()
	e, _ = f.run(folder)
	for _, c := range append(claims, later) {
		if v, err := e.GetClaim(c.ID, agent); err != nil || v.Status != Held {
			t.Errorf("%s: %+v, %v", c.Ticket, v, err)
		}
	}
}

// TestG7_ALockThatAnEarlierRunCouldNotFreeIsFreed: its agent ended while Redis was away, and then the daemon.
func TestG7_ALockThatAnEarlierRunCouldNotFreeIsFreed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	f := &fleet{t, c, "picket"}
	folder := t.TempDir()
	long := func(c *Config) { c.StateDir, c.TTL = folder, 10*time.Minute }
	e := f.host("host-a", long)
	<-e.Restored()
	pid, kill := child(t)
	k := byProcess(t, e, "left", pid)
	proxy.Refuse()
	kill()
	eventually(t, "the claim ends", func() bool {
		v, err := e.GetClaim(k.ID, 0)
		return err == nil && v.Reason == ReasonProcessExit
	})
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Restore()
	e = f.host("host-a", long)
	eventually(t, "the lock is freed", func() bool { return server.Client().Exists(t.Context(), e.store.Keys.Lock("left")).Val() == 0 })
}

// TestG1_ARequestThatIsSentAgainIsAnsweredAsBefore: the claim was granted, and the answer was lost with the daemon. Another thread of
// the process, with a request of its own, does not get the claim; nor does another process or another user.
func TestG1_ARequestThatIsSentAgainIsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	f := &fleet{t, c, "picket"}
	folder := t.TempDir()
	e, stop := f.run(folder)
	pid, _ := child(t)
	other, _ := child(t)
	asked := ClaimRequest{Asset: "again", Task: "t", PID: pid, Request: "one", Peer: Peer{PID: pid}}
	first, err := e.Claim(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"the same run", "the next run"} {
		got, err := e.Claim(t.Context(), asked)
		if err != nil || got.Claim == nil || got.Claim.ID != first.Claim.ID || got.Claim.Token != first.Claim.Token || len(got.Next) == 0 {
			t.Errorf("%s answers %+v, %v", run, got, err)
		}
		for who, change := range map[string]func(*ClaimRequest){
			"another thread":          func(r *ClaimRequest) { r.Request = "two" },
			"one without a name":      func(r *ClaimRequest) { r.Request = "" },
			"another process":         func(r *ClaimRequest) { r.PID = other },
			"another task":            func(r *ClaimRequest) { r.Task = "u" },
			"another user":            func(r *ClaimRequest) { r.PID, r.Heartbeat, r.Peer.UID = 0, time.Minute, agent },
			"one without the process": func(r *ClaimRequest) { r.PID, r.Heartbeat = 0, time.Minute },
		} {
			r := asked
			change(&r)
			if got, err := e.Claim(t.Context(), r); !errors.As(err, new(*HeldError)) {
				t.Errorf("%s: %s got %+v, %v", run, who, got.Claim, err)
			}
		}
		if run == "the next run" {
			break
		}
		stop()
		proxy.Refuse()
		e = f.host("host-a", func(c *Config) { c.StateDir = folder })
		_, err = e.Claim(t.Context(), asked)
		wantErr(t, err, store.ErrUnavailable) // and not that it is held
		proxy.Restore()
		<-e.Restored()
	}
	if err := e.Release(t.Context(), first.Claim.ID, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Claim(t.Context(), asked); err != nil || got.Claim.ID == first.Claim.ID {
		t.Errorf("after its release it is answered %+v, %v", got.Claim, err)
	}
}
