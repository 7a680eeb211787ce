// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// fill takes all the room on a host's small disk. What it returns gives it back.
func (h *crashHost) fill(t *testing.T) (free func()) {
	t.Helper()
	h.mu.Lock()
	path := fmt.Sprintf("/proc/%d/root%s", h.cmd.Process.Pid, filepath.Join(h.config.StateDir, "ballast"))
	h.mu.Unlock()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// outboxCheck is what a daemon says about its outbox: empty when all is well.
func (h *crashHost) outboxCheck(t *testing.T) string {
	t.Helper()
	status, err := h.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range status.Checks {
		if c.Name == "outbox" {
			return c.Error
		}
	}
	t.Fatal("there is no check of the outbox")
	return ""
}

// signs reports whether the daemon with this identity gives signs of life.
func (h *crashHost) signs(t *testing.T, id string) bool {
	t.Helper()
	at, err := h.redis.ZScore(t.Context(), "picket:fleet:{fleet}:signs", id).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return time.Since(time.UnixMilli(int64(at))) < 25*time.Second
}

// TestG9_AFullDisk: the host accepts no notification and says why, and gives no sign of life, so that another delivers what it had
// accepted. Its locks live on. When there is room again, all is as before, without a restart.
func TestG9_AFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	server, r, down := redistest.Start(t), newReceiver(t), newReceiver(t)
	down.answers(func(string, int) int { return http.StatusServiceUnavailable })
	a, b := newCrashHost(t, "host-a", server, down, ops), newCrashHost(t, "host-b", server, r, ops)
	a.disk, a.config.Lock.TTL = true, Duration(12*time.Second)
	a.start(t, "")
	b.start(t, "")
	a.toldOf(t, theAsset, "first")
	was := a.owner(t, theAsset)
	held, err := a.client.Claim(t.Context(), client.ClaimRequest{Asset: "web-09", Task: theTask, Heartbeat: "10m"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host gives signs of life", func() bool { return a.signs(t, was) })

	free := a.fill(t)
	big := tell("second")
	big.Facts = json.RawMessage(`{"log":"` + strings.Repeat("x", 200<<10) + `"}`)
	claim, err := riskUnder(t.Context(), a.client, client.ClaimRequest{Asset: "web-03", Task: theTask, Heartbeat: "10m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.client.Notify(t.Context(), claim, big, 0)
	wantCode(t, err, client.OutboxUnavailable)
	if said := a.outboxCheck(t); !strings.Contains(said, "no space left on device") {
		t.Errorf("the daemon says %q about its outbox", said)
	}
	inTime(t, "another host has delivered", func() bool {
		a.wantHeld(t, *held.Claim)
		ticket, err := b.client.Ticket(t.Context(), theAsset, theTask)
		return err == nil && ticket.State == client.StateFinished
	})
	if a.signs(t, was) || b.owner(t, theAsset) == was {
		t.Error("the host with the full disk goes on answering for what it accepted")
	}
	if _, err := a.client.Step(t.Context(), held.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline}); err != nil {
		t.Errorf("a step on a full disk: %v", err)
	}

	free()
	down.answers(nil)
	eventually(t, "the outbox can be written", func() bool { return a.outboxCheck(t) == "" })
	eventually(t, "the host gives signs of life", func() bool { return a.signs(t, was) })
	if _, err := a.client.Notify(t.Context(), claim, big, 0); err != nil {
		t.Errorf("with room again: %v", err)
	}
	delivered(t, a.client, "web-03")
	a.idle(t)
	a.wantHeld(t, *held.Claim)
	if first, second := r.under(keyOf(theAsset, 1)), down.under(keyOf("web-03", 1)); first != 1 || second != 1 {
		t.Errorf("the receivers got %d and %d requests", first, second)
	}
	delivered(t, b.client, theAsset)
}

// TestF21_ADamagedOutboxIsRebuiltFromRedis: the daemon sets it aside and starts with a new one, whose identity takes over what the
// old one had accepted, and delivers it, once.
func TestF21_ADamagedOutboxIsRebuiltFromRedis(t *testing.T) {
	t.Parallel()
	server, r := redistest.Start(t), newReceiver(t)
	r.answers(func(string, int) int { return http.StatusServiceUnavailable })
	h := newCrashHost(t, "host-a", server, r, ops)
	h.start(t, "")
	h.toldOf(t, theAsset, "first")
	was := h.owner(t, theAsset)
	eventually(t, "it was tried", func() bool { return len(r.requests()) > 0 })
	h.kill()
	h.client.CloseIdleConnections()
	path := filepath.Join(h.config.StateDir, "outbox.db")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Repeat([]byte("damaged!"), len(file)/8)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	before := len(r.requests())
	r.answers(nil)
	h.start(t, "")
	if aside, err := filepath.Glob(path + ".damaged-*"); err != nil || len(aside) != 1 {
		t.Errorf("set aside are %v, %v", aside, err)
	}
	inTime(t, "it is delivered", func() bool {
		ticket, err := h.client.Ticket(t.Context(), theAsset, theTask)
		return err == nil && ticket.State == client.StateFinished
	})
	delivered(t, h.client, theAsset)
	if owner := h.owner(t, theAsset); owner == was {
		t.Error("the identity that is lost still answers for it")
	}
	eventually(t, "no hint is left", func() bool {
		keys, err := h.redis.Keys(t.Context(), "picket:undelivered:*").Result()
		return err == nil && len(keys) == 0
	})
	h.emptied(t)
	r.wantRequests(t, before+1, "first")
}
