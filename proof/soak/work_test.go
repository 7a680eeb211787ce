// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

const (
	holders = 30  // claims on each measured daemon that are held and watched all the time
	fleet   = 200 // assets of each daemon that are gone through again and again, in a new task each time
)

// work is all that is done to the daemons. Two of them are measured, the third is killed and started again.
type work struct {
	daemons  []*daemon
	receiver *receiver
	pages    *exec.Cmd // picket ui on the first
	list     string    // of assets
	config   string    // of the agents
	life     time.Duration

	gate   sync.RWMutex // locked for a rest; held for reading by whoever works
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex     // guards what follows
	done   map[string]int // by kind of work
	failed map[string]int
	first  map[string]error // that failed
}

func newWork(t *testing.T, life time.Duration) *work {
	t.Helper()
	w := &work{life: life, receiver: newReceiver(t), done: map[string]int{}, failed: map[string]int{}, first: map[string]error{}}
	dir := t.TempDir()
	w.list, w.config = filepath.Join(dir, "assets"), filepath.Join(dir, "agent.toml")
	var assets strings.Builder
	for i := range 20 {
		fmt.Fprintf(&assets, "listed-%d\n", i)
	}
	config := fmt.Sprintf("[step.online]\ncommand = [\"%[1]s/online\"]\n[step.vuln]\ncommand = [\"%[1]s/vuln\"]\nparse = \"findings\"\n", dir)
	for name, text := range map[string]string{
		"assets": assets.String(), "agent.toml": config,
		"online": "#!/bin/sh\necho '{\"state\": \"ASSET_ONLINE\"}'\n",
		"vuln":   "#!/bin/sh\necho '{\"findings\": [{\"id\": \"CVE-2021-44228\", \"severity\": \"critical\", \"cvss\": 10}]}'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		w.cancel()
		w.wait.Wait()
	})
	return w
}

// start begins all work.
func (w *work) start(t *testing.T) error {
	t.Helper()
	look, err := w.startPages(t)
	if err != nil {
		return err
	}
	for n, d := range w.daemons {
		measured := n < 2
		if measured {
			for i := range holders {
				w.wait.Go(func() { w.hold(d, fmt.Sprintf("held-%s-%d", d.name, i)) })
			}
			other := w.daemons[1-n]
			w.every(200*time.Millisecond, "read "+d.name, func(i int) error { return w.read(d, i) })
			w.every(500*time.Millisecond, "wait "+d.name, func(i int) error { return w.contend(d, i) })
			w.every(2*time.Second, "take over "+d.name, func(i int) error { return w.takeOver(d, other, i) })
			w.every(max(w.life/8, 4*time.Second), "list "+d.name, func(i int) error { return w.runList(d, i) })
		}
		w.every(250*time.Millisecond, "flow "+d.name, func(i int) error { return w.flow(d, i) })
	}
	w.every(500*time.Millisecond, "look at pages", look)
	w.every(10*time.Second, "end the receiver", func(int) error { return w.receiver.restart() })
	return nil
}

// every does something at a pace, but in rests. Of the third daemon, which is killed, nothing counts as failed.
func (w *work) every(pace time.Duration, kind string, do func(n int) error) {
	w.wait.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-w.ctx.Done():
				return
			}
			w.gate.RLock()
			err := do(n)
			w.gate.RUnlock()
			if w.ctx.Err() != nil {
				return
			}
			w.mu.Lock()
			if w.done[kind]++; err != nil && !strings.HasSuffix(kind, w.daemons[2].name) {
				w.failed[kind]++
				if w.first[kind] == nil {
					w.first[kind] = err
				}
			}
			w.mu.Unlock()
		}
	})
}

// round lets all work go on for so long, in which the third daemon is away until others have taken over what it had, if there is time.
func (w *work) round(ctx context.Context, t *testing.T, lasts time.Duration) {
	t.Helper()
	begun, third := time.Now(), w.daemons[2]
	_ = third.kill()
	time.Sleep(min(45*time.Second, lasts/3))
	if err := third.start(); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	time.Sleep(lasts - time.Since(begun))
}

// String tells how much was done.
func (w *work) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(w.done)) {
		part := fmt.Sprintf("%s %d", kind, w.done[kind])
		if w.failed[kind] > 0 {
			part += fmt.Sprintf(" (%d failed: %v)", w.failed[kind], w.first[kind])
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s, notifications %d", strings.Join(parts, ", "), w.receiver.count())
}

// stop ends all work, and demands that there was some of each kind, and that hardly any of it failed: a report may be about a ticket
// that runs out while it is read.
func (w *work) stop(t *testing.T) {
	t.Helper()
	w.cancel()
	w.wait.Wait()
	for kind, n := range w.done {
		if w.failed[kind]*20 > n {
			t.Errorf("%s: %d of %d failed, the first with: %v", kind, w.failed[kind], n, w.first[kind])
		}
	}
	if w.receiver.count() == 0 {
		t.Error("no notification has arrived")
	}
}

// claim claims without a process that is watched.
func (w *work) claim(d *daemon, asset, task string, wait, maxHold time.Duration) (id string, err error) {
	r := client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "1h", MaxHold: maxHold.String()}
	if wait > 0 {
		r.Wait = wait.String()
	}
	got, err := d.client.Claim(w.ctx, r)
	if err != nil || got.Claim == nil {
		return "", err
	}
	return got.Claim.ID, nil
}

// hold keeps an asset claimed and watches the claim, which ends by its max_hold.
func (w *work) hold(d *daemon, asset string) {
	for n := 0; w.ctx.Err() == nil; n++ {
		id, err := w.claim(d, asset, fmt.Sprintf("hold-%d", n), 10*time.Second, w.life-rand.N(w.life/2))
		for err == nil && id != "" {
			var got client.Claim
			if got, err = d.client.WatchClaim(w.ctx, id, 30*time.Second); err == nil && got.Status != client.StatusHeld {
				break
			}
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

var details = json.RawMessage(`{"text": "` + strings.Repeat("x", 2000) + `"}`)

// flow takes a new asset through one of its ways.
func (w *work) flow(d *daemon, n int) error {
	id, err := w.claim(d, fmt.Sprintf("flow-%s-%d", d.name, n%fleet), fmt.Sprintf("flow-%d", n/fleet), 0, w.life)
	if err != nil {
		return err
	}
	online := client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline}
	switch n % 4 {
	case 0:
		if _, err := d.client.Step(w.ctx, id, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline}); err != nil {
			return err
		}
		_, err := d.client.Finish(w.ctx, id, "")
		return err
	case 1:
		if _, err := d.client.Step(w.ctx, id, online); err != nil {
			return err
		}
		if _, err := d.client.Fail(w.ctx, id, client.FailureRequest{Step: client.StepVuln, Error: "it does not answer", Final: true}); err != nil {
			return err
		}
		return d.client.Release(w.ctx, id)
	}
	if err := w.atRisk(d, id, online); err != nil {
		return err
	}
	_, err = d.client.Notify(w.ctx, id, client.NotificationRequest{Title: "t", Text: "x", Severity: client.SeverityHigh, Facts: details}, 0)
	if err != nil {
		return err
	}
	_, err = d.client.Finish(w.ctx, id, "")
	return err
}

// atRisk records steps up to a high risk.
func (w *work) atRisk(d *daemon, id string, first ...client.StepRequest) error {
	for _, step := range append(first,
		client.StepRequest{Step: client.StepVuln, State: client.StateVulnCheckDone, Facts: details},
		client.StepRequest{Step: client.StepAssess, State: client.StateHighRiskFound},
	) {
		if _, err := d.client.Step(w.ctx, id, step); err != nil {
			return err
		}
	}
	return nil
}

// contend waits for an asset that the other daemon's agents want, too, holds it for a moment, and gives it back.
func (w *work) contend(d *daemon, n int) error {
	id, err := w.claim(d, fmt.Sprintf("hot-%d", n%3), fmt.Sprintf("hot-%d", n/20), 20*time.Second, w.life)
	if err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	return d.client.Release(w.ctx, id)
}

// takeOver has an agent killed under picket exec, and another host's resume what it left.
func (w *work) takeOver(d, other *daemon, n int) error {
	asset, task := fmt.Sprintf("left-%s-%d", d.name, n%fleet), fmt.Sprintf("left-%d", n/fleet)
	cmd := exec.Command(d.picket, "exec", "--socket", d.socket, asset, task, "--", "sleep", "5")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if ticket, err := d.client.Ticket(w.ctx, asset, task); err == nil && ticket.Holder != nil {
			break
		} else if time.Now().After(until) || w.ctx.Err() != nil {
			return errors.New("picket exec holds nothing")
		}
	}
	_ = cmd.Process.Kill()
	id, err := w.claim(other, asset, task, 20*time.Second, w.life)
	if err != nil {
		return err
	}
	if err := w.atRisk(other, id, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline}); err != nil {
		return err
	}
	return other.client.Release(w.ctx, id)
}

// runList goes through a list with a report, and reads that.
func (w *work) runList(d *daemon, n int) error {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	task := fmt.Sprintf("list-%s-%d", d.name, n)
	if err := d.run(ctx, "run", "--config", w.config, "--assets", w.list, "--task", task, "--report", "nightly-"+d.name, "--max-hold", "10s", "--give-up", "10s"); err != nil {
		return err
	}
	return d.run(ctx, "report", "nightly-"+d.name, "--html")
}

// read asks the daemon for one thing or another, and for what it must refuse.
func (w *work) read(d *daemon, n int) (err error) {
	switch asset := fmt.Sprintf("flow-%s-%d", d.name, n%fleet); n % 8 {
	case 0:
		_, err = d.client.Tickets(w.ctx, client.TicketQuery{Limit: 50})
	case 1:
		_, err = d.client.Tasks(w.ctx, 50, "")
	case 2:
		_, err = d.client.Hosts(w.ctx)
	case 3:
		_, err = d.client.Outbox(w.ctx, "")
	case 4:
		_, err = d.client.History(w.ctx, asset, fmt.Sprintf("flow-%d", n/fleet))
	case 5:
		_, err = d.client.Claims(w.ctx)
	case 6:
		_, err = w.claim(d, "", "no asset", 0, w.life)
	default:
		_, err = w.claim(d, "held-"+d.name+"-0", "another", 0, w.life)
	}
	if refused := (*client.Problem)(nil); errors.As(err, &refused) && refused.Status < 500 {
		return nil
	}
	return err
}
