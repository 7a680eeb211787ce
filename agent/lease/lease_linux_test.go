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

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// serve is a client of a server that answers so.
func serve(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
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
	return cl
}

// TestATrustThatWasAnsweredIsNotAskedFor: but one that is half over is, and every claim is watched after a while.
func TestATrustThatWasAnsweredIsNotAskedFor(t *testing.T) {
	t.Parallel()
	looks, watches := make(chan bool, 1000), make(chan bool, 1000)
	cl := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("wait") == "0s" {
			looks <- true
		} else {
			watches <- true
		}
		_, _ = w.Write([]byte(`{"claim": {"id": "c1", "status": "held", "trusted_ms": 60000, "margin_ms": 1000}}`))
	})
	claim := client.Claim{ID: "c1", Status: client.StatusHeld, TrustedMS: 60000, MarginMS: 1000}
	for sent, asked := range map[time.Duration]int{process.Boottime(): 0, process.Boottime() - 40*time.Second: 1, process.Boottime() - time.Hour: 1} {
		l, err := Hold(t.Context(), cl, claim, sent, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if len(looks) != asked {
			t.Errorf("sent %s ago, it asked %d times", process.Boottime()-sent, len(looks))
		}
		if asked > 0 {
			<-looks
		}
		<-watches
		l.End()
	}
}

// TestWorkThatHangsGivesNoSignOfLife: its claim is lost after the heartbeat, as it would be of a process that stands still.
func TestWorkThatHangsGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	var beats atomic.Int64
	cl := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		beats.Add(1)
		_, _ = w.Write([]byte("{}"))
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	l := &Lease{ctx: ctx, cancel: cancel}
	l.ended.Go(func() { l.beat(cl, "c1", time.Millisecond) })
	time.Sleep(50 * time.Millisecond)
	if n := beats.Load(); n > 0 {
		t.Errorf("%d signs of life came from work that should have moved", n)
	}
	l.Expect(0)
	for end := time.Now().Add(time.Minute); beats.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there is no sign of life again")
		}
	}
	l.End()
}

// TestTheFirstLookOutlivesARestart: a daemon that just restarts refuses the first looks at a claim, or breaks their connection.
func TestTheFirstLookOutlivesARestart(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	cl := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch looks.Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"STORE_UNAVAILABLE","detail":"claims are being taken up"}`))
		default:
			_, _ = w.Write([]byte(`{"claim": {"id": "c1", "status": "held", "trusted_ms": 1000}}`))
		}
	})
	if s := First(t.Context(), cl, "c1"); s.Err != nil || s.Trust.Until == 0 {
		t.Errorf("got %+v", s)
	}
}
