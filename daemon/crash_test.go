// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/outbox"
)

// Each row of the table in outbox/doc.go, with a daemon that is killed at its place and started again on the same outbox: here up
// to the 202, in crash_send_test.go from the attempt on.

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
	tests := read("crash_test.go") + read("crash_send_test.go")
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

// wantHint demands that the ticket is among those that the daemon answers for, or that it is not.
func (h *crashHost) wantHint(t *testing.T, want bool) {
	t.Helper()
	h.outbox(t, func(s *outbox.Store) {
		keys, err := h.redis.Keys(t.Context(), "picket:undelivered:"+s.ID()+":*").Result()
		hinted := slices.ContainsFunc(keys, func(key string) bool { return h.redis.ZScore(t.Context(), key, theTicket).Err() == nil })
		if err != nil || hinted != want {
			t.Errorf("hinted: %v, want %v: %v", hinted, want, err)
		}
	})
}
