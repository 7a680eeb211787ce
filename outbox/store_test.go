// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// setup opens a fresh outbox.
func setup(t *testing.T) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "outbox.db"), Options{})
}

func open(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := Open(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func newIntent(ticket string) Intent {
	asset, task, _ := strings.Cut(ticket, "/")
	return Intent{
		Ref: Ref{Ticket: ticket, ID: rand.Text()}, Asset: asset, Task: task, Run: 1, Key: ticket,
		At: time.Now(), Severity: "critical", Content: []byte(`{"title":"` + strings.Repeat("x", 400) + `"}`),
		Token: 1_796_000_000_000, Nonce: rand.Text(), Agent: "pid 4711",
		Channels: map[string]Delivery{"ops": {Type: "webhook", Status: Pending, Body: []byte(strings.Repeat("y", 600))}},
	}
}
