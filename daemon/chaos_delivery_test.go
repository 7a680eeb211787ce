// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// acceptance is a notification that an agent was told is accepted: title is the one that stands on the ticket.
type acceptance struct {
	asset string
	run   int64
	title string
}

// span is a time.
type span struct{ begin, end time.Time }

// deliveries is a chaos over delivery: what is tormented, and what agents and receiver have seen.
type deliveries struct {
	server   *redistest.Server
	receiver *moody
	hosts    []*crashHost
	channels []string
	admin    bool // this process may decide what is for a person to decide
	long     bool // there is time for what lasts longer than a lease
	enough   context.Context

	store sync.RWMutex // held by who takes Redis away, and shared by who starts a daemon

	mu       sync.Mutex // guards what follows
	assets   []string
	accepted []acceptance
	away     []span // of Redis
	faults   map[string]int
}

// TestG9_Chaos has agents on three hosts notify, and say it again on other hosts in other words, and begin new runs, with a
// receiver that is slow, fails and hangs up, while daemons are frozen, killed and started again and Redis goes away, at random.
// Then it checks that what was accepted has arrived (G9), with one key and the same bytes, that no two daemons sent one at once
// and none sent what was recorded as sent or superseded (G10), that nothing came twice where at most once is promised, and that all
// tickets are done.
func TestG9_Chaos(t *testing.T) {
	t.Parallel()
	const short = 3 * time.Second
	long := chaosTime(t, short)
	d := &deliveries{
		server: redistest.Start(t, "--appendonly", "yes"), receiver: newMoody(t), channels: []string{ops},
		admin: os.Getuid() == 0, long: long > 10*short, faults: map[string]int{},
	}
	if d.admin {
		d.channels = append(d.channels, once)
	}
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		h := newCrashHost(t, name, d.server, nil)
		h.config.Lock.TTL = Duration(chaosTTL)
		deliverTo(&h.config, &receiver{Server: d.receiver.Server}, d.channels...)
		for i := range h.config.Channels {
			ch := &h.config.Channels[i]
			ch.URL, ch.Timeout = ch.URL+"?from="+name, Duration(sendTimeout)
		}
		h.start(t, "")
		d.hosts = append(d.hosts, h)
	}
	enough, stop := chaosLasts(t.Context(), long, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.accepted) > 0 && d.faults["kills"] > 0 && d.faults["freezes"] > 0
	})
	defer stop()
	d.enough = enough
	var tormenting, working sync.WaitGroup
	tormenting.Go(func() { d.tormentStore() })
	for _, h := range d.hosts {
		tormenting.Go(func() { d.torment(t, h) })
	}
	for i := range 10 {
		working.Go(func() {
			for n := 0; enough.Err() == nil; n++ {
				d.agent(fmt.Sprintf("told-%d-%d", i, n))
			}
		})
	}
	tormenting.Wait()
	working.Wait()
	d.receiver.calm()
	d.finish(t)
	d.check(t)
}

// torment freezes and kills a daemon, the first one killed first and the second frozen, so that a short round has both. It leaves it
// running.
func (d *deliveries) torment(t *testing.T, h *crashHost) {
	for first := true; pause(d.enough, rand.N(2*time.Second)); first = false {
		if kills := rand.IntN(d.seldom(3)) == 0; first && h == d.hosts[0] || kills && !(first && h == d.hosts[1]) {
			d.fault("kills")
			h.kill()
			h.client.CloseIdleConnections()
			pause(d.enough, rand.N(time.Second))
			d.store.RLock() // the start of a daemon in these tests asks Redis
			h.start(t, "")
			d.store.RUnlock()
			continue
		}
		long := rand.N(freezeMost)
		switch n := rand.IntN(16); {
		case d.long && n == 0: // past the sign's life: others adopt
			long = 28*time.Second + rand.N(10*time.Second)
			d.fault("freezes past the sign of life")
		case d.long && n < 3:
			long = sendTimeout + 10*time.Second + rand.N(3*time.Second)
			d.fault("freezes past the lease")
		default:
			d.fault("freezes")
		}
		h.signal(t, syscall.SIGSTOP)
		pause(d.enough, long)
		h.signal(t, syscall.SIGCONT)
	}
}

// seldom makes room in a long round for daemons that run long enough to judge others.
func (d *deliveries) seldom(n int) int {
	if d.long {
		return 6 * n
	}
	return n
}

// tormentStore freezes Redis, or kills it and starts it again with its data.
func (d *deliveries) tormentStore() {
	for pause(d.enough, time.Second+rand.N(3*time.Second)) {
		long := rand.N(2 * time.Second)
		if d.long && rand.IntN(5) == 0 {
			long = 5*time.Second + rand.N(7*time.Second) // sent all the same, by who accepted it
		}
		d.store.Lock()
		begin := time.Now()
		if rand.IntN(2) == 0 {
			d.fault("freezes of Redis")
			d.server.Freeze()
			pause(d.enough, long)
			d.server.Thaw()
		} else {
			d.fault("crashes of Redis")
			d.server.Kill()
			pause(d.enough, long)
			d.server.Restart()
		}
		d.store.Unlock()
		d.mu.Lock()
		d.away = append(d.away, span{begin, time.Now()})
		d.mu.Unlock()
	}
}

func (d *deliveries) fault(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[what]++
}

// agent has people told about an asset, on one host after another until one accepts it. Often another agent, who took over, says
// it again in other words; sometimes the ticket begins a new run.
func (d *deliveries) agent(asset string) {
	d.mu.Lock()
	d.assets = append(d.assets, asset)
	d.mu.Unlock()
	for run := 1; run <= 2; run++ {
		again := rand.IntN(3)
		for n := 0; n <= again; {
			h := d.hosts[rand.IntN(len(d.hosts))]
			if d.tells(h, asset, fmt.Sprintf("word %d of %s on run %d", n, h.config.Host, run)) {
				n++
			} else if !pause(d.enough, rand.N(200*time.Millisecond)) {
				return
			}
		}
		if !d.admin || rand.IntN(2) == 0 || !d.reopens(asset) {
			return
		}
	}
}

// tells claims, takes the ticket to where people must be told, and tells; an agent may forget to let go.
func (d *deliveries) tells(h *crashHost, asset, title string) (accepted bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	claim, err := riskUnder(ctx, h.client, client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "3s", Wait: "1s"})
	if err != nil || claim == "" {
		return err == nil
	}
	got, err := h.client.Notify(ctx, claim, tell(title), 0)
	if err == nil {
		d.mu.Lock()
		d.accepted = append(d.accepted, acceptance{asset, got.Ticket.Run, got.Ticket.Notification.Title})
		d.mu.Unlock()
	}
	switch rand.IntN(4) {
	case 0:
	case 1:
		_, _ = h.client.Finish(ctx, claim, "")
	default:
		_ = h.client.Release(ctx, claim)
	}
	return err == nil
}

// reopens begins a new run as soon as the ticket is done, when copies of its intent may wait on other hosts.
func (d *deliveries) reopens(asset string) bool {
	for late := time.Now().Add(2 * time.Second); time.Now().Before(late) && pause(d.enough, 50*time.Millisecond); {
		h := d.hosts[rand.IntN(len(d.hosts))]
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		ticket, err := h.client.Reopen(ctx, asset, theTask, "chaos")
		if err != nil {
			_ = d.decides(ctx, h, asset, false)
		}
		cancel()
		if err == nil {
			return ticket.Run == 2
		}
	}
	return false
}

// decides is a person who looks at the receiver for what is parked: it did arrive, or else, if certain is set because no sender
// can be at it any more, it is to be sent again.
func (d *deliveries) decides(ctx context.Context, h *crashHost, asset string, certain bool) error {
	ticket, err := h.client.Ticket(ctx, asset, theTask)
	if err != nil || ticket.Delivery[once].Status != string(outbox.Parked) {
		return err
	}
	switch {
	case d.receiver.has(once, keyOf(asset, ticket.Run)):
		_, err = h.client.Settle(ctx, asset, theTask, once, "it is there")
	case certain:
		_, err = h.client.Retry(ctx, asset, theTask, once, "it is not there")
	}
	return err
}

func keyOf(asset string, run int64) string {
	if run == 1 {
		return fmt.Sprintf("%q", asset+"/"+theTask)
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%s/%s~%d", asset, theTask, run))
}

// finish waits until nothing is left to be done on any host.
func (d *deliveries) finish(t *testing.T) {
	t.Helper()
	late := time.Now().Add(2 * time.Minute)
	for _, asset := range d.assets {
		for {
			h := d.hosts[rand.IntN(len(d.hosts))]
			ticket, err := h.client.Ticket(t.Context(), asset, theTask)
			if err == nil && ticket.State != client.StateNotifying || isCode(err, client.TicketNotFound) {
				break
			}
			if err == nil {
				err = d.decides(t.Context(), h, asset, true)
			}
			if time.Now().After(late) {
				t.Fatalf("%s is still not done: %+v, %v", asset, ticket.Delivery, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for _, h := range d.hosts {
		eventually(t, h.config.Host+" has nothing left to do", func() bool {
			list, err := h.client.Outbox(t.Context(), "")
			if err != nil {
				t.Error(err)
			}
			for _, in := range list.Intents {
				if in.Status == string(outbox.Staged) { // for as long as its grant is the newest: somebody takes over
					d.takesOver(t, h, in.Asset)
				}
			}
			return len(list.Intents) == 0
		})
	}
}

// takesOver is an agent that claims, and lets go.
func (d *deliveries) takesOver(t *testing.T, h *crashHost, asset string) {
	got, err := h.client.Claim(t.Context(), client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "3s"})
	if err == nil && got.Claim != nil {
		_ = h.client.Release(t.Context(), got.Claim.ID)
	}
}

// check reads what stands on the tickets and compares it with what was seen.
func (d *deliveries) check(t *testing.T) {
	t.Helper()
	seen := evidence{accepted: d.accepted, sent: d.receiver.all(), away: d.away, channels: d.channels, tickets: map[string]told{}}
	for _, asset := range d.assets {
		ticket, err := d.hosts[0].client.Ticket(t.Context(), asset, theTask)
		if isCode(err, client.TicketNotFound) {
			continue // nobody came that far
		}
		if err != nil {
			t.Fatal(err)
		}
		seen.tickets[asset] = told{ticket, wholeHistory(t, d.hosts[0].client, asset)}
	}
	for _, h := range d.hosts {
		h.stop(t)
		h.outbox(t, func(s *outbox.Store) {
			if err := checkNothingLeft(s); err != nil {
				t.Errorf("%s: %v", h.config.Host, err)
			}
		})
	}
	t.Logf("%d tickets, %d accepted notifications, %d requests at the receiver, %d from another host than the one before, %v",
		len(seen.tickets), len(seen.accepted), len(seen.sent), seen.moved(), d.faults)
	if len(seen.accepted) == 0 || d.faults["kills"] == 0 || d.faults["freezes"] == 0 {
		t.Error("too little happened to tell anything")
	}
	for _, wrong := range seen.wrong() {
		t.Error(wrong)
	}
}
