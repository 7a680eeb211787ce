// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// TestWorkThatHangsGivesNoSignOfLife: its claim is lost after the heartbeat, as it would be of a process that stands still.
func TestWorkThatHangsGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	var beats atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		beats.Add(1)
		_, _ = w.Write([]byte("{}"))
	}))
	dir, err := os.MkdirTemp("", "picket-lease-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_ = server.Listener.Close()
	if server.Listener, err = net.Listen("unix", filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	cl := client.New(filepath.Join(dir, "s"))
	t.Cleanup(cl.CloseIdleConnections)
	ctx, cancel := context.WithCancelCause(t.Context())
	l := &Lease{ctx: ctx, cancel: cancel}
	l.ended.Go(func() { l.beat(cl, "c1", time.Millisecond) })
	time.Sleep(50 * time.Millisecond)
	if n := beats.Load(); n > 0 {
		t.Errorf("%d signs of life came from work that should have moved", n)
	}
	l.Expect(0)
	for end := time.Now().Add(20 * time.Second); beats.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there is no sign of life again")
		}
	}
	l.End()
}
