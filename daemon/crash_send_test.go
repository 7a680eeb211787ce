// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
)

// crashAfter202 has the daemon crash at point, after a notification on a channel was accepted, or while it is being.
func crashAfter202(t *testing.T, channel, point string) (*crashHost, *receiver) {
	t.Helper()
	h, r := setupCrash(t, channel)
	h.start(t, point)
	claim := mustRisk(t, h.client)
	_, _ = h.client.Notify(t.Context(), claim, tell("first"), 0)
	h.crashed(t)
	return h, r
}

func TestCrash_C7_AttemptTakenBeforeSend(t *testing.T) {
	t.Parallel()
	h, r := crashAfter202(t, ops, "after attempt")
	h.found(t, ops, outbox.Committed, outbox.Pending, "NOTIFYING", "sending")
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

func TestCrash_C7_AttemptTakenBeforeBeginAtMostOnce(t *testing.T) {
	t.Parallel()
	h, r := crashAfter202(t, once, "after attempt")
	h.found(t, once, outbox.Committed, outbox.Pending, "NOTIFYING", "sending")
	h.start(t, "")
	eventually(t, "the end of the lease is awaited", func() bool {
		list, err := h.client.Outbox(t.Context(), "")
		if err != nil || len(list.Intents) != 1 {
			return false
		}
		due := list.Intents[0].Channels[once].Due
		return due != nil && time.Until(*due) > time.Second
	})
	h.kill()
	h.leaseEnds(t, once)
	h.start(t, "")
	h.parked(t)
	r.wantRequests(t, 0, "")
}

func TestCrash_C8_AtMostOnceBegunBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h, r := setupCrash(t, once)
	h.config.Channels[0].URL = "https://" + l.Addr().String() // the first byte of a request comes after a handshake
	h.start(t, "")
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	h.kill()
	conn.Close()
	h.found(t, once, outbox.Committed, outbox.Sending, "NOTIFYING", "sending")
	h.config.Channels[0].URL = r.URL + "/" + once
	h.leaseEnds(t, once)
	h.start(t, "")
	h.parked(t)
	r.wantRequests(t, 0, "")
}

func TestCrash_C8_AtMostOnceSentBeforeTheOutcome(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, once)
	h.start(t, "")
	h.killOnRequest(t, r)
	h.found(t, once, outbox.Committed, outbox.Sending, "NOTIFYING", "sending")
	h.start(t, "")
	h.parked(t) // once the lease has run out
	r.wantRequests(t, 1, "first")
}

func TestCrash_C9_SentBeforeTheOutcome(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	h.start(t, "")
	h.killOnRequest(t, r)
	h.found(t, ops, outbox.Committed, outbox.Pending, "NOTIFYING", "sending")
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 2, "first")
}

func TestCrash_C10_OutcomeInTheOutboxOnly(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{ops, once} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			h, r := crashAfter202(t, channel, "before outcome")
			h.found(t, channel, outbox.Committed, outbox.Sent, "NOTIFYING", "sending")
			h.start(t, "")
			delivered(t, h.client, theAsset)
			h.emptied(t)
			r.wantRequests(t, 1, "first")
		})
	}
}

// The host stays away, and another one delivers, because its agent asked it to.
func TestCrash_C10_AnotherHostDelivers(t *testing.T) {
	t.Parallel()
	h, r := crashAfter202(t, ops, "before outcome")
	h.lockEnds(t, theAsset)
	h.leaseEnds(t, ops)
	other := newCrashHost(t, "host-b", h.server, r, ops)
	other.start(t, "")
	accepted(t, other.client, mustRisk(t, other.client), "second", true)
	delivered(t, other.client, theAsset)
	h.start(t, "")
	h.emptied(t)
	delivered(t, other.client, theAsset)
	other.emptied(t)
	r.wantRequests(t, 2, "first")
}

func TestCrash_C11_OutcomeOnTheTicketBeforeShut(t *testing.T) {
	t.Parallel()
	h, r := crashAfter202(t, ops, "after outcome")
	h.found(t, ops, outbox.Committed, outbox.Sent, "NOTIFIED", "sent")
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

// Between shut and recorded nothing is asked of Redis. So the daemon crashes before both, and its next step is done for it.
func TestCrash_C12_ShutBeforeRecorded(t *testing.T) {
	t.Parallel()
	h, r := crashAfter202(t, ops, "after outcome")
	h.outbox(t, func(s *outbox.Store) {
		all, err := s.Ticket(theTicket)
		if err != nil || len(all) != 1 {
			t.Fatalf("found in the outbox are %+v, %v", all, err)
		}
		if err := s.Shut(all[0].Ref); err != nil {
			t.Fatal(err)
		}
	})
	h.found(t, ops, outbox.Closed, outbox.Sent, "NOTIFIED", "sent")
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

// The daemon is killed at moments left to chance while many agents notify, so that many a crash falls into a write.
func TestCrash_C13_InTheMiddleOfAWrite(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	const rounds, agents = 5, 4
	var mu sync.Mutex
	var tried []string
	said202 := map[string]bool{}
	for round := range rounds {
		h.start(t, "")
		var working sync.WaitGroup
		for agent := range agents {
			working.Go(func() {
				for n := 0; ; n++ {
					asset := fmt.Sprintf("asset-%d-%d-%d", round, agent, n)
					claim, err := atRisk(t.Context(), h.client, asset)
					if err != nil {
						return
					}
					_, err = h.client.Notify(t.Context(), claim, tell("of "+asset), 0)
					mu.Lock()
					tried = append(tried, asset)
					said202[asset] = err == nil
					mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
		time.Sleep(100*time.Millisecond + rand.N(200*time.Millisecond))
		h.kill()
		h.client.CloseIdleConnections()
		working.Wait()
	}
	h.start(t, "")
	for _, asset := range tried {
		if !said202[asset] { // its agent calls again, unless another crash left it accepted
			h.lockEnds(t, asset)
			if claim, err := atRisk(t.Context(), h.client, asset); err != nil {
				t.Error(err)
			} else if claim != "" {
				if _, err := h.client.Notify(t.Context(), claim, tell("of "+asset), 0); err != nil {
					t.Error(err)
				}
			}
		}
		delivered(t, h.client, asset)
	}
	h.emptied(t)

	first, count := map[string]request{}, map[string]int{}
	for _, one := range r.requests() {
		if count[one.key]++; count[one.key] == 1 {
			first[one.key] = one
		}
		if a := first[one.key]; one.id != a.id || string(one.body) != string(a.body) {
			t.Errorf("the receiver has got\n%s\nand\n%s", one.body, a.body)
		}
	}
	for _, asset := range tried {
		if n := count[`"`+asset+"/"+theTask+`"`]; n < 1 || n > 1+rounds {
			t.Errorf("of %s the receiver has got %d requests", asset, n)
		}
	}
	if more := len(r.requests()) - len(tried); more > 64*rounds { // what can be in flight in a crash
		t.Errorf("%d requests came again after %d crashes", more, rounds)
	}
}

// killOnRequest has a notification accepted, and the daemon killed when the receiver has the request, before it answers.
func (h *crashHost) killOnRequest(t *testing.T, r *receiver) {
	t.Helper()
	killed := make(chan struct{})
	r.answers(func(string, int) int {
		h.kill()
		close(killed)
		return http.StatusOK
	})
	_, _ = h.client.Notify(t.Context(), mustRisk(t, h.client), tell("first"), 0)
	<-killed
	r.answers(nil)
	h.client.CloseIdleConnections()
}

// parked waits until the ticket says that a person has to decide, and demands that nothing is left to be done by the daemon.
func (h *crashHost) parked(t *testing.T) {
	t.Helper()
	eventually(t, "the channel is parked", func() bool {
		ticket, err := h.client.Ticket(t.Context(), theAsset, theTask)
		return err == nil && ticket.State == "NOTIFYING" && ticket.Delivery[once].Status == "parked"
	})
	wholeHistory(t, h.client, theAsset)
	eventually(t, "the daemon has nothing to do", func() bool {
		status, err := h.client.Status(t.Context())
		return err == nil && status.Outbox.Ready == 0
	})
	h.stop(t)
	h.start(t, "")
	ticket, err := h.client.Ticket(t.Context(), theAsset, theTask)
	list, listErr := h.client.OutboxTicket(t.Context(), theAsset, theTask)
	if err := errors.Join(err, listErr); err != nil || ticket.Delivery[once].Status != "parked" || len(list.Intents) != 1 || list.Intents[0].Notification == nil {
		t.Errorf("after another start: %+v, %+v, %v", ticket, list, err)
	}
}
