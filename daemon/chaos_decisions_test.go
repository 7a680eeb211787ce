// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// latest is how long after a decision that it cannot know a daemon begins a send at latest, as outbox/doc.go has it, and a slack for a
// machine that stands still.
const latest = 17*time.Second + 10*time.Second

// decision is one of an administrator, against a notification that host-a has accepted.
type decision struct {
	asset string
	at    time.Time
	known time.Time // when host-a had nothing left to send of it
}

// decisions is a chaos over what administrators decide.
type decisions struct {
	a, b   *crashHost
	proxy  *redistest.FaultProxy // between host-a and Redis
	enough context.Context

	mu   sync.Mutex // guards what follows
	all  []decision
	sent map[string][]time.Time // by key
	cuts int
}

// TestG10_Chaos has host-a accept notifications that its receiver refuses again and again, and an administrator on either host decide
// against them, while host-a is cut from Redis at random. Nothing is sent of what host-a knows to be decided against, nor of
// what it cannot know for long; not even when Redis has lost all.
func TestG10_Chaos(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may decide here")
	}
	d := &decisions{sent: map[string][]time.Time{}}
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		d.mu.Lock()
		defer d.mu.Unlock()
		key := req.Header.Get("Idempotency-Key")
		d.sent[key] = append(d.sent[key], time.Now())
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(r.Close)
	server := redistest.Start(t)
	d.proxy = redistest.Proxy(t, server.Addr())
	d.a, d.b = newCrashHost(t, "host-a", server, nil), newCrashHost(t, "host-b", server, nil)
	d.a.config.Redis.Addrs = []string{d.proxy.Addr()}
	for _, h := range []*crashHost{d.a, d.b} {
		deliverTo(&h.config, &receiver{Server: r}, ops)
		h.config.Outbox.RetryFirst, h.config.Outbox.RetryMax = Duration(500*time.Millisecond), Duration(time.Second)
		h.start(t, "")
	}
	enough, stop := chaosLasts(t.Context(), chaosTime(t, 10*time.Second), d.happened)
	defer stop()
	d.enough = enough
	var working sync.WaitGroup
	working.Go(d.torment)
	for i := range 4 {
		working.Go(func() {
			for n := 0; enough.Err() == nil; n++ {
				d.round(fmt.Sprintf("decided-%d-%d", i, n))
			}
		})
	}
	working.Wait()
	d.proxy.Restore()
	eventually(t, "host-a knows of every decision", func() bool { d.look(); return d.unknown() == 0 })
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // for what would be sent
	d.check(t)
}

// torment cuts host-a from Redis, at first at once and for long enough to send without it.
func (d *decisions) torment() {
	for wait := time.Second; pause(d.enough, wait); wait = 2*time.Second + rand.N(4*time.Second) {
		d.proxy.Refuse()
		d.mu.Lock()
		d.cuts++
		d.mu.Unlock()
		pause(d.enough, 6*time.Second+rand.N(20*time.Second))
		d.proxy.Restore()
	}
}

// round has one notification accepted, and after a while decided against.
func (d *decisions) round(asset string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	claim, err := riskUnder(ctx, d.a.client, client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "1m"})
	if err == nil {
		_, err = d.a.client.Notify(ctx, claim, tell(asset), 0)
	}
	if err != nil {
		pause(d.enough, 100*time.Millisecond)
		return
	}
	pause(d.enough, rand.N(3*time.Second))
	for d.enough.Err() == nil {
		h := []*crashHost{d.a, d.b}[rand.IntN(2)]
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := h.client.Discard(ctx, asset, theTask, "", "a false alarm")
		if err == nil && rand.IntN(2) == 0 {
			_, err = h.client.Reopen(ctx, asset, theTask, "to be looked at anew")
		}
		cancel()
		if err == nil {
			d.mu.Lock()
			d.all = append(d.all, decision{asset: asset, at: time.Now()})
			d.mu.Unlock()
			break
		}
	}
	d.look()
}

// look finds what host-a has nothing left to send of.
func (d *decisions) look() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := d.a.client.Outbox(ctx, "")
	if err != nil {
		return
	}
	left := map[string]bool{}
	for _, in := range list.Intents {
		left[in.Asset] = true
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.all {
		if one := &d.all[i]; one.known.IsZero() && !left[one.asset] {
			one.known = now
		}
	}
}

func (d *decisions) happened() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all) > 0 && d.cuts > 0
}

func (d *decisions) unknown() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		if one.known.IsZero() {
			n++
		}
	}
	return n
}

func (d *decisions) check(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	late := 0 // without knowing
	for _, one := range d.all {
		for _, at := range d.sent[keyOf(one.asset, 1)] {
			if at.After(one.at) {
				late++
			}
			if at.After(one.known.Add(sendTimeout+5*time.Second)) || at.After(one.at.Add(latest)) {
				t.Errorf("%s: decided at %s, known to host-a at %s, and sent at %s", one.asset, one.at, one.known, at)
			}
		}
	}
	t.Logf("%d decisions, %d cuts, %d sends after the decision", len(d.all), d.cuts, late)
	if len(d.all) == 0 || d.cuts == 0 {
		t.Error("too little happened to tell anything")
	}
}
