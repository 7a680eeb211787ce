// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
)

// Each row of the table in outbox/doc.go, with a daemon that is killed at its place and started again on the same outbox.

func TestEachRowOfTheCrashTableHasItsTest(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rows := regexp.MustCompile(`(?m)^//\t(C\d+) `).FindAllStringSubmatch(read("../outbox/doc.go"), -1)
	if len(rows) == 0 {
		t.Error("the table is not found")
	}
	tests := read("crash_test.go")
	for _, row := range rows {
		if !strings.Contains(tests, "func TestCrash_"+row[1]+"_") {
			t.Errorf("there is no TestCrash_%s_…", row[1])
		}
	}
}

// setupCrash makes a host with Redis and receiver, its daemon not started yet.
func setupCrash(t *testing.T, channel string) (*crashHost, *receiver) {
	t.Helper()
	r := newReceiver(t)
	return newCrashHost(t, "host-a", redistest.Start(t), r, channel), r
}

// crashInCall has the daemon crash at point while a notify call runs, which is not answered.
func crashInCall(t *testing.T, point string) (*crashHost, *receiver) {
	t.Helper()
	h, r := setupCrash(t, ops)
	h.start(t, "")
	claim := mustRisk(t, h.client)
	h.dieAt(t, point)
	refused(t, h.client, claim, "first")
	h.crashed(t)
	return h, r
}

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

// callsAgain is the agent that has no 202: it claims again and notifies, in other words.
func (h *crashHost) callsAgain(t *testing.T) {
	t.Helper()
	h.lockEnds(t, theAsset)
	accepted(t, h.client, mustRisk(t, h.client), "second", false)
}

func TestCrash_C1_BeforeStage(t *testing.T) {
	t.Parallel()
	h, r := crashInCall(t, "after read") // the call's first question to Redis
	h.found(t, ops, "", "", "HIGH_RISK_FOUND", "")
	h.start(t, "")
	h.callsAgain(t)
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "second")
}

func TestCrash_C2_AfterStageBeforeHint(t *testing.T) {
	t.Parallel()
	h, r := crashInCall(t, "before hint")
	h.found(t, ops, outbox.Staged, outbox.Pending, "HIGH_RISK_FOUND", "")
	h.wantHint(t, false)
	h.start(t, "")
	h.callsAgain(t)
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "second")
}

func TestCrash_C3_AfterHintBeforeNotifying(t *testing.T) {
	t.Parallel()
	h, r := crashInCall(t, "after hint")
	h.found(t, ops, outbox.Staged, outbox.Pending, "HIGH_RISK_FOUND", "")
	h.wantHint(t, true)
	h.start(t, "")
	h.callsAgain(t)
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "second")
}

// An agent that never comes back leaves nothing that could be sent: once its grant is no longer the newest, what is staged goes,
// and the hint with it.
func TestCrash_C3_TheNextClaimEndsWhatIsStaged(t *testing.T) {
	t.Parallel()
	h, r := crashInCall(t, "before notify")
	h.found(t, ops, outbox.Staged, outbox.Pending, "HIGH_RISK_FOUND", "")
	h.lockEnds(t, theAsset)
	other := newCrashHost(t, "host-b", h.server, r, ops)
	other.start(t, "")
	mustRisk(t, other.client)
	h.start(t, "")
	eventually(t, "the hint is gone", func() bool {
		keys, err := h.redis.Keys(t.Context(), "picket:undelivered:*").Result()
		return err == nil && len(keys) == 0
	})
	h.emptied(t)
	r.wantRequests(t, 0, "")
	wholeHistory(t, other.client, theAsset)
}

func TestCrash_C4_NotifyingWrittenBeforeCommit(t *testing.T) {
	t.Parallel()
	h, r := crashInCall(t, "after notify")
	h.found(t, ops, outbox.Staged, outbox.Pending, "NOTIFYING", "pending")
	h.wantHint(t, true)
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

// The write is on its way when the daemon crashes, and lands long after.
func TestCrash_C4_NotifyingLandsLate(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	proxy := redistest.Proxy(t, h.server.SocketPath())
	direct := h.config.Redis.Addrs
	h.config.Redis.Addrs = []string{proxy.Addr()}
	h.start(t, "")
	claim := mustRisk(t, h.client)
	h.dieAt(t, "hold notify")
	ended := make(chan error)
	go func() {
		_, err := h.client.Notify(t.Context(), claim, tell("first"), 0)
		ended <- err
	}()
	h.holds(t)
	proxy.Freeze()
	h.dieAt(t, "")
	time.Sleep(200 * time.Millisecond) // so that the write is under way; a shorter time would only make this an easier case
	h.kill()
	if err := <-ended; err == nil {
		t.Fatal("it was accepted")
	}
	h.found(t, ops, outbox.Staged, outbox.Pending, "HIGH_RISK_FOUND", "")

	h.config.Redis.Addrs = direct
	h.start(t, "")
	time.Sleep(200 * time.Millisecond)
	if list, err := h.client.Outbox(t.Context(), "staged"); err != nil || len(list.Intents) != 1 {
		t.Errorf("staged are %+v, %v, want the one whose write may land yet", list, err)
	}
	proxy.Thaw()
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

func TestCrash_C5_AfterCommitBefore202(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	h.start(t, "hold attempt")
	claim := mustRisk(t, h.client)
	ended := make(chan error)
	go func() { // answers once the ticket has left NOTIFYING, which it cannot
		_, err := h.client.Notify(t.Context(), claim, tell("first"), time.Minute)
		ended <- err
	}()
	h.holds(t)
	h.kill()
	if err := <-ended; err == nil {
		t.Fatal("it was answered")
	}
	h.found(t, ops, outbox.Committed, outbox.Pending, "NOTIFYING", "pending")
	h.lockEnds(t, theAsset)
	h.start(t, "hold attempt")
	accepted(t, h.client, mustRisk(t, h.client), "second", true)
	h.kill()
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
}

func TestCrash_C6_After202BeforeAttempt(t *testing.T) {
	t.Parallel()
	h, r := setupCrash(t, ops)
	h.start(t, "hold attempt")
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	h.holds(t)
	h.kill()
	h.found(t, ops, outbox.Committed, outbox.Pending, "NOTIFYING", "pending")
	h.start(t, "")
	delivered(t, h.client, theAsset)
	h.emptied(t)
	r.wantRequests(t, 1, "first")
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
		return err == nil && len(list.Intents) == 1 && time.Until(*list.Intents[0].Channels[once].Due) > time.Second
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
	if more := len(r.requests()) - len(tried); more > 16*rounds { // what can be in flight in a crash
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
	h.emptied(t)
	h.start(t, "")
	if ticket, err := h.client.Ticket(t.Context(), theAsset, theTask); err != nil || ticket.Delivery[once].Status != "parked" {
		t.Errorf("after another start: %+v, %v", ticket, err)
	}
}

// wantHint demands that the ticket is among those that the daemon answers for, or that it is not.
func (h *crashHost) wantHint(t *testing.T, want bool) {
	t.Helper()
	h.outbox(t, func(s *outbox.Store) {
		err := h.redis.ZScore(t.Context(), "picket:undelivered:"+s.ID(), theTicket).Err()
		if (err == nil) != want {
			t.Errorf("hinted: %v, want %v", err, want)
		}
	})
}
