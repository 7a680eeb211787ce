// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// setupDelivery makes a host, not started yet, that has its Redis at addr and delivers to r.
func setupDelivery(t *testing.T, addr string, r *receiver, channels ...string) *host {
	t.Helper()
	return setup(t, func(c *Config) {
		c.Redis.Addrs = []string{addr}
		deliverTo(c, r, channels...)
	})
}

// onCue has do called the first time that the daemon comes to a point, and its error take the place of what Redis answers.
func (h *host) onCue(point string, do func() error) {
	var first sync.Once
	h.Daemon.redis.AddHook(&cue{at: func(when, what string) (err error) {
		if when+" "+what == point {
			first.Do(func() { err = do() })
		}
		return err
	}})
}

// emptied waits until nothing is left in a running daemon's outbox but receipts that are on their tickets.
func (h *host) emptied(t *testing.T) {
	t.Helper()
	eventually(t, "the outbox is empty", func() bool { return checkEmptied(h.Daemon.outbox) == nil })
}

func unixAddr(s *redistest.Server) string { return "unix://" + s.SocketPath() }

func TestG9_TheLostReplyOfNotifyingIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	proxy := redistest.Proxy(t, redistest.Start(t).SocketPath())
	h := setupDelivery(t, proxy.Addr(), r, ops)
	h.start(t)
	claim := mustRisk(t, h.client)
	lost := proxy.LoseNextReply(`"event":"notifying"`)
	accepted(t, h.client, claim, "first", false)
	<-lost
	delivered(t, h.client, theAsset)
	if n := count(wholeHistory(t, h.client, theAsset), "notifying"); n != 1 {
		t.Errorf("it was written %d times", n)
	}
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

// Redis goes away in the middle of a call. The caller is told the same wherever that is; what was written is delivered without
// another call, what was not is delivered by the next.
func TestG9_RedisAwayInTheMiddleOfTheCall(t *testing.T) {
	t.Parallel()
	for point, written := range map[string]bool{"before hint": false, "before notify": false, "after notify": true} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t)
			proxy := redistest.Proxy(t, redistest.Start(t).SocketPath())
			h := setupDelivery(t, proxy.Addr(), r, ops)
			h.onCue(point, func() error {
				proxy.Refuse()
				return io.ErrUnexpectedEOF
			})
			h.start(t)
			claim := mustRisk(t, h.client)
			_, err := h.client.Notify(t.Context(), claim, tell("first"), 0)
			wantCode(t, err, client.StoreUnavailable)
			r.wantRequests(t, 0, "")
			proxy.Restore()
			if !written {
				accepted(t, h.client, claim, "first", false)
			}
			delivered(t, h.client, theAsset)
			h.emptied(t)
			r.wantRequests(t, 1, "first")
		})
	}
}

func TestG9_RedisFrozenAfterThe202(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	server := redistest.Start(t)
	h := setupDelivery(t, unixAddr(server), r, ops, once)
	var thaw <-chan time.Time
	h.onCue("before attempt", func() error {
		server.Freeze()
		thaw = time.After(10 * time.Second)
		return nil
	})
	h.start(t)
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	eventually(t, "its own daemon sends it without Redis", func() bool { return len(r.requests()) == 1 })
	<-thaw
	if all := r.requests(); len(all) != 1 || all[0].channel != ops {
		t.Errorf("while Redis was frozen the receiver has got %+v", all)
	}
	server.Thaw()
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 2, "first")
}

// FLUSHALL takes an accepted notification from Redis, on each master. It is delivered all the same, and this host does not tell it a second time
// when the agent, whose claim went too, begins anew.
func TestG9_WhatRedisHasLostIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		point    string // where it is lost; empty: in the first request, which fails
		requests int
	}{
		"before the attempt":   {"before attempt", 1},
		"between two attempts": {"", 2},
		"before the receipt":   {"before outcome", 1},
		"after the receipt":    {"after outcome", 1},
	} {
		for _, kind := range redistest.Some(t, redistest.Kinds...) {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				lostInTheMiddle(t, kind, c.point, c.requests)
			})
		}
	}
}

func lostInTheMiddle(t *testing.T, kind, point string, requests int) {
	r := newReceiver(t)
	o := redistest.StartKind(t, kind)
	direct := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = direct.Close() })
	h := setup(t, func(c *Config) {
		c.Redis.Mode, c.Redis.Addrs, c.Redis.Master = kind, o.Addrs, o.MasterName
		deliverTo(c, r, ops)
	})
	lost := make(chan struct{})
	flush := func() error {
		defer close(lost)
		_, err := eachMaster(t.Context(), direct, func(ctx context.Context, c *redis.Client) (string, error) {
			return "", c.FlushAll(ctx).Err()
		})
		return err
	}
	if point != "" {
		h.onCue(point, flush)
	} else {
		r.answers(func(_ string, n int) int {
			if n > 1 {
				return http.StatusOK
			}
			if err := flush(); err != nil {
				t.Error(err)
			}
			return http.StatusServiceUnavailable
		})
	}
	h.start(t)
	eventually(t, "it is ready", func() bool { return h.check(t, "settings") == "" })
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	<-lost
	h.emptied(t)
	r.wantRequests(t, requests, "first")

	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	notified(t, h.client, theAsset)
	wholeHistory(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, requests, "first")
}

func TestG9_RetriesGoOnAfterACrash(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	// So that there is time to crash.
	h.config.Outbox.RetryFirst, h.config.Outbox.RetryMax = Duration(time.Second), Duration(5*time.Second)
	r.answers(func(_ string, n int) int {
		if n < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	h.start(t, "")
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	eventually(t, "two attempts have failed", func() bool {
		ticket, err := h.client.Ticket(t.Context(), theAsset, theTask)
		return err == nil && ticket.Delivery[ops].Attempts == 2 && ticket.Delivery[ops].Status == client.DeliveryPending
	})
	h.kill()
	h.client.CloseIdleConnections()
	kept := func(origin outbox.Origin) outbox.Delivery {
		var all []outbox.Intent
		h.outbox(t, func(s *outbox.Store) {
			var err error
			if all, err = s.Ticket(theTicket); err != nil || len(all) != 1 || all[0].Origin != origin {
				t.Fatalf("in the outbox are %+v, %v", all, err)
			}
		})
		return all[0].Channels[ops]
	}
	if d := kept(outbox.Committed); d.Attempts != 2 || !d.Due.After(d.At) {
		t.Errorf("kept is %+v", d)
	}
	h.start(t, "")
	if ticket := delivered(t, h.client, theAsset); ticket.Delivery[ops].Attempts != 3 {
		t.Errorf("the ticket says %+v", ticket.Delivery[ops])
	}
	h.emptied(t)
	if d := kept(outbox.Closed); d.Attempts != 3 {
		t.Errorf("kept is %+v", d)
	}
	r.wantRequests(t, 3, "first")
}

// An agent's claim goes to another host while its daemon sends. The second agent says it in other words.
func TestG10_ATakeoverWithOtherWordsSendsNothing(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	server := redistest.Start(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	r.answers(func(string, int) int {
		close(arrived)
		<-answer
		return http.StatusOK
	})
	slow := func(h *host) *host {
		h.Daemon.config.Channels[0].Timeout = Duration(time.Minute)
		h.start(t)
		return h
	}
	a := slow(setupDelivery(t, unixAddr(server), r, ops))
	b := slow(setupDelivery(t, unixAddr(server), r, ops))
	claim := mustRisk(t, a.client)
	accepted(t, a.client, claim, "first", false)
	<-arrived
	if err := a.client.Release(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	accepted(t, b.client, mustRisk(t, b.client), "second", true)
	var its outbox.Intent
	eventually(t, "the second daemon sees the first one's lease", func() bool {
		all, err := b.Daemon.outbox.List(outbox.Adopted, 10)
		if err != nil || len(all) != 1 {
			t.Fatalf("the second daemon has %+v, %v", all, err)
		}
		its = all[0]
		return time.Until(its.Channels[ops].Due) > time.Second
	})
	close(answer)
	ticket := delivered(t, b.client, theAsset)
	if ticket.Notification.Title != "first" {
		t.Errorf("the ticket says %+v", ticket.Notification)
	}
	a.emptied(t)
	if err := b.Daemon.outbox.Postpone(its.Ref, ops, time.Now()); err != nil { // as if the lease had run out
		t.Fatal(err)
	}
	b.emptied(t)
	r.wantRequests(t, 1, "first")
}

// The same, but the first daemon has died before it could send. When it comes back, there is nothing left for it to do.
func TestG9_ATakeoverDeliversForADeadHost(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	h.start(t, "hold attempt")
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	h.holds(t)
	h.kill()
	h.lockEnds(t, theAsset)
	other := setupDelivery(t, unixAddr(h.server), r, ops)
	other.start(t)
	claim := mustRisk(t, other.client)
	accepted(t, other.client, claim, "second", true)
	delivered(t, other.client, theAsset)
	r.wantRequests(t, 1, "first")
	if _, err := other.client.Finish(t.Context(), claim, ""); err != nil {
		t.Error(err)
	}
	other.emptied(t)
	h.start(t, "")
	h.emptied(t)
	delivered(t, other.client, theAsset)
	r.wantRequests(t, 1, "first")
}

// A failover brings back a ticket as it was before the receipt. The receipt in the outbox settles it, as soon as the daemon has
// a hint of it: one that came back too, or that of another call.
func TestG10_ATicketThatFellBackIsSettledByItsReceipt(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	server := redistest.Start(t)
	redis := server.Client()
	h := setupDelivery(t, unixAddr(server), r, ops)
	older := map[string]string{}
	h.onCue("before outcome", func() (err error) {
		for _, kind := range []string{"ticket", "log"} {
			key := "picket:{" + theAsset + "}:" + kind + ":" + theTask
			if older[key], err = redis.Dump(t.Context(), key).Result(); err != nil {
				return err
			}
		}
		return nil
	})
	h.start(t)
	claim := mustRisk(t, h.client)
	accepted(t, h.client, claim, "first", false)
	delivered(t, h.client, theAsset)
	h.emptied(t)
	for key, dump := range older {
		if err := redis.RestoreReplace(t.Context(), key, 0, dump).Err(); err != nil {
			t.Fatal(err)
		}
	}
	accepted(t, h.client, claim, "first", true)
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

// The write lands, its reply is lost, and before it is asked for again another claim is granted: it was accepted, and is delivered by the
// daemon that wrote it.
func TestG9_WrittenAndThenTakenOver(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	server := redistest.Start(t)
	redis := server.Client()
	a := setupDelivery(t, unixAddr(server), r, ops)
	b := setupDelivery(t, unixAddr(server), r, ops)
	b.start(t)
	a.onCue("after notify", func() error {
		if err := redis.Del(t.Context(), "picket:{"+theAsset+"}:lock").Err(); err != nil {
			return err
		}
		if _, err := atRisk(t.Context(), b.client, theAsset); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	})
	a.start(t)
	accepted(t, a.client, mustRisk(t, a.client), "first", false)
	delivered(t, b.client, theAsset)
	a.emptied(t)
	b.emptied(t)
	r.wantRequests(t, 1, "first")
}
