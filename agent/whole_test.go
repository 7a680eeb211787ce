// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/sockapi/client"
)

// TestAListIsNotedAgain: Redis may have lost it, and what nobody has claimed yet would be missing from the task.
func TestAListIsNotedAgain(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{false, true} {
		noted := make(chan bool, 100)
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPut {
				noted <- true
			}
			_, _ = w.Write([]byte(`{}`))
		})}
		go func() { _ = daemon.Serve(l) }()
		t.Cleanup(func() { _ = daemon.Close() })
		list, err := assets.Read(strings.NewReader("a\nb\n"))
		if err != nil {
			t.Fatal(err)
		}
		a := &Agent{client: client.New(socket), options: Options{Task: "t", Follow: follow, Log: quiet}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() {
			a.watchList(ctx, &list, make(chan Whole))
			close(ended)
		}()
		for range 2 {
			select {
			case <-noted:
			case <-time.After(60 * time.Second):
				t.Fatalf("with follow %v it is not noted", follow)
			}
		}
		cancel()
		<-ended
	}
}
