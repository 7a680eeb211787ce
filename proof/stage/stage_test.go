// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// TestMain runs all tests in namespaces, one after the other: there is one world.
func TestMain(m *testing.M) {
	if os.Geteuid() == 0 {
		if err := Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// build makes the command, once.
var build = sync.OnceValues(func() (string, error) {
	picket := filepath.Join(private+"-test", "picket")
	return picket, run(context.Background(), "go", "build", "-o", picket, "github.com/picketd/picket/daemon/cmd/picket")
})

// limit is for what takes seconds on a machine that does nothing else.
const limit = 2 * time.Minute

// setup starts a world, with the history that it writes.
func setup(t *testing.T, topology string) (s *Stage, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make namespaces")
	}
	dir := t.TempDir()
	picket, err := build()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "history")
	log, err := history.Open(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	s, err = Start(ctx, Options{
		Topology: topology, Dir: dir, Picket: picket, Seed: 7, TTL: 5 * time.Second, Log: log, Clocks: true,
		Channels: []Channel{{Name: "ops", URL: "http://" + Address + ":1/HOST", Timeout: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(begin))
	t.Cleanup(func() {
		s.Stop()
		if left, err := exec.Command("pgrep", "-a", "picket|redis").Output(); err == nil {
			t.Errorf("Stop left processes: %s", left)
		}
	})
	return s, path
}

// call makes a call as curl does, and returns the status and the body; none without an answer.
func call(h *Host, method, path, body string) (status int, answer string) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://picket"+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	response, err := h.http.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(all)
}

func TestStage(t *testing.T) {
	for _, topology := range []string{"standalone", "sentinel", "cluster"} {
		t.Run(topology, func(t *testing.T) {
			s, _ := setup(t, topology)
			for _, h := range s.Hosts {
				status, answer := call(h, "POST", "/v1/claims", fmt.Sprintf(`{"asset":"a-%s","task":"t","heartbeat":"1m"}`, h.Name))
				if status != 201 {
					t.Errorf("%s: %d %s", h.Name, status, answer)
				}
			}
		})
	}
}
