// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
)

// TestG9_DumpsFromBeforeARestart has Redis fall back to what it had before the daemon's last restart, by SIGTERM or kill -9: the daemon
// takes its own former run for no clone, accepts, and delivers.
func TestG9_DumpsFromBeforeARestart(t *testing.T) {
	t.Parallel()
	server, r := redistest.Start(t), newReceiver(t)
	h := newCrashHost(t, "host-a", server, r, ops)
	h.start(t, "")
	for n, end := range []func(){func() { h.stop(t) }, h.kill} {
		asset := fmt.Sprint("before-", n)
		eventually(t, "it has signed", func() bool {
			keys, err := h.redis.Keys(t.Context(), "picket:fleet:{fleet}:host:*").Result()
			return err == nil && len(keys) == 1
		})
		if err := server.Client().Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		end()
		h.client.CloseIdleConnections()
		h.start(t, "")
		time.Sleep(time.Second) // its first sign
		server.Restart()
		eventually(t, "it is well", func() bool { st, err := h.client.Status(t.Context()); return err == nil && st.Ready })
		time.Sleep(6 * time.Second) // past its next sign
		h.toldOf(t, asset, "first")
		eventually(t, "it is delivered", func() bool { return r.under(keyOf(asset, 1)) > 0 })
		if st, err := h.client.Status(t.Context()); err != nil || !st.Ready {
			t.Fatalf("round %d: %v, %+v", n, err, st.Checks)
		}
	}
}

// TestF21_AFlippedBitInARecordIsMended: the intent is taken out of the file when the daemon starts, told of, and taken from the ticket
// again.
func TestF21_AFlippedBitInARecordIsMended(t *testing.T) {
	t.Parallel()
	server, r := redistest.Start(t), newReceiver(t)
	r.answers(func(string, int) int { return http.StatusServiceUnavailable })
	h := newCrashHost(t, "host-a", server, r, ops)
	h.start(t, "")
	h.toldOf(t, theAsset, "first")
	eventually(t, "it was tried", func() bool { return len(r.requests()) > 0 })
	h.kill()
	path := filepath.Join(h.config.StateDir, "outbox.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte(`"origin":"committed"`), []byte(`"origin":"committee"`))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r.answers(nil)
	h.start(t, "")
	st, err := h.client.Status(t.Context())
	if err != nil || len(st.Warnings) == 0 || st.Warnings[0].Name != "outbox_damaged" {
		t.Errorf("it warns of %+v, %v", st.Warnings, err)
	}
	delivered(t, h.client, theAsset)
}
