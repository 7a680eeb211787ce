// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// The pace at which daemons watch each other is not configurable, so these tests take its time: a sign of life lives 25 s, who judges
// has been well for 30 s, and looks at the dead every 5 s.
const judged = 2 * time.Minute

// inTime waits longer than eventually.
func inTime(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(judged); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is still not so: %s", what)
		}
	}
}

// under are the requests that came under a key.
func (r *receiver) under(key string) (n int) {
	for _, one := range r.requests() {
		if one.key == key {
			n++
		}
	}
	return n
}

// toldOf has an asset's notification accepted by a host.
func (h *crashHost) toldOf(t *testing.T, asset, title string) {
	t.Helper()
	claim, err := atRisk(t.Context(), h.client, asset)
	if err != nil || claim == "" {
		t.Fatalf("got claim %q, %v", claim, err)
	}
	accepted(t, h.client, claim, title, false)
	if err := h.client.Release(t.Context(), claim); err != nil {
		t.Error(err)
	}
}

// owner is the identity of the daemon that answers for an asset's notification.
func (h *crashHost) owner(t *testing.T, asset string) string {
	t.Helper()
	owner, err := h.redis.HGet(t.Context(), "picket:{"+asset+"}:ticket:"+theTask, "owner").Result()
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// TestG9_AnotherHostDeliversForOneThatIsGone: the first host cannot reach the receiver and dies for good; the second one delivers
// without being asked to. When the first comes back with its outbox, it has nothing to send, neither what was delivered, nor what a
// new run has superseded.
func TestG9_AnotherHostDeliversForOneThatIsGone(t *testing.T) {
	t.Parallel()
	server, r, down := redistest.Start(t), newReceiver(t), newReceiver(t)
	down.answers(func(string, int) int { return http.StatusServiceUnavailable })
	a, b := newCrashHost(t, "host-a", server, down, ops), newCrashHost(t, "host-b", server, r, ops)
	a.start(t, "")
	b.start(t, "")
	assets := []string{theAsset, "web-02"}
	for _, asset := range assets {
		a.toldOf(t, asset, "first")
	}
	was := a.owner(t, theAsset)
	eventually(t, "it was tried", func() bool { return len(down.requests()) > 0 })
	a.kill()
	for _, asset := range assets {
		inTime(t, "the second host has delivered", func() bool {
			ticket, err := b.client.Ticket(t.Context(), asset, theTask)
			return err == nil && ticket.State == client.StateFinished
		})
		delivered(t, b.client, asset)
		if owner := b.owner(t, asset); owner == was {
			t.Errorf("%s is still answered for by the host that is gone", asset)
		}
	}
	admin := os.Getuid() == 0
	if admin {
		if _, err := b.client.Reopen(t.Context(), "web-02", theTask, "seen again"); err != nil {
			t.Fatal(err)
		}
		b.toldOf(t, "web-02", "second")
		eventually(t, "the new run is delivered", func() bool { return r.under(keyOf("web-02", 2)) == 1 })
	}
	a.config.Channels[0].URL = r.URL + "/" + ops
	a.start(t, "")
	a.idle(t)
	b.emptied(t)
	for _, asset := range assets {
		if n := r.under(keyOf(asset, 1)); n != 1 {
			t.Errorf("the receiver got %d requests for %s", n, asset)
		}
	}
	if n := r.under(keyOf("web-02", 2)); admin && n != 1 {
		t.Errorf("the receiver got %d requests for the new run", n)
	}
}

// idle is emptied for a host that may have been superseded: what was is closed as it stood.
func (h *crashHost) idle(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is left in the outbox", func() bool {
		list, err := h.client.Outbox(t.Context(), "")
		return err == nil && len(list.Intents) == 0
	})
}

// TestG10_NobodyAdoptsFromTheLiving after Redis was away, or full, for so long that all signs of life have run out. Their receiver
// is down all that time, so each daemon has something that another could adopt.
func TestG10_NobodyAdoptsFromTheLiving(t *testing.T) {
	t.Parallel()
	away, full := newPair(t), newPair(t)
	pairs := map[string]*pair{"away": away, "full": full}
	time.Sleep(32 * time.Second) // now each may judge the other
	away.server.Freeze()
	limitMemory(t, full.server, "1")
	time.Sleep(32 * time.Second)
	for name, p := range pairs {
		_, err := p.hosts["web-01"].client.Claim(t.Context(), client.ClaimRequest{Asset: "web-03", Task: theTask, Heartbeat: "1m"})
		if !isCode(err, client.StoreUnavailable) {
			t.Errorf("%s: a claim is answered %v", name, err)
		}
	}
	away.server.Thaw()
	limitMemory(t, full.server, "0")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for name, p := range pairs {
			p.keepTheirOwn(t, name)
		}
	}
	for _, p := range pairs {
		p.receiver.answers(nil)
		for asset, h := range p.hosts {
			delivered(t, h.client, asset)
			h.emptied(t)
		}
	}
}

// pair is two hosts that each have a notification for the asset that they stand under, and cannot deliver it.
type pair struct {
	server   *redistest.Server
	receiver *receiver
	hosts    map[string]*crashHost
	owners   map[string]string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{server: redistest.Start(t), receiver: newReceiver(t), owners: map[string]string{}}
	p.receiver.answers(func(string, int) int { return http.StatusServiceUnavailable })
	p.hosts = map[string]*crashHost{
		"web-01": newCrashHost(t, "host-a", p.server, p.receiver, ops), "web-02": newCrashHost(t, "host-b", p.server, p.receiver, ops),
	}
	for asset, h := range p.hosts {
		h.start(t, "")
		h.toldOf(t, asset, "first")
		p.owners[asset] = h.owner(t, asset)
	}
	return p
}

// keepTheirOwn demands that each still has its own notification and no other.
func (p *pair) keepTheirOwn(t *testing.T, name string) {
	t.Helper()
	for asset, h := range p.hosts {
		list, err := h.client.Outbox(t.Context(), "")
		owner := h.owner(t, asset)
		if err != nil || len(list.Intents) != 1 || list.Intents[0].Asset != asset || owner != p.owners[asset] {
			t.Fatalf("%s: %s has %+v, %v; %s is answered for by %s, and was by %s", name, h.config.Host, list.Intents, err, asset, owner,
				p.owners[asset])
		}
	}
}

func limitMemory(t *testing.T, s *redistest.Server, most string) {
	t.Helper()
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", most).Err(); err != nil {
		t.Fatal(err)
	}
}
