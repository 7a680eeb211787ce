// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picketd/picket/proof/history"
)

// outside is why there are no namespaces; nil inside.
var outside error

// TestMain runs all tests in namespaces, one after the other: there is one world.
func TestMain(m *testing.M) {
	outside = errors.Join(Missing(), Enter())
	os.Exit(m.Run())
}

// build makes the command, once.
var build = sync.OnceValues(func() (string, error) {
	picket := filepath.Join(private+"-test", "picket")
	return picket, run(context.Background(), "go", "build", "-o", picket, "github.com/picketd/picket/daemon/cmd/picket")
})

// limit is for what takes seconds on a machine that does nothing else.
const limit = 2 * time.Minute

// calm is a patience with which no replica takes over by itself.
const calm = time.Hour

// setup starts a world, with the history that it writes.
func setup(t *testing.T, topology string, patience time.Duration) (s *Stage, path string) {
	t.Helper()
	if outside != nil {
		t.Skip(outside)
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
		Topology: topology, Dir: dir, Picket: picket, Seed: 7, TTL: 5 * time.Second, Log: log, Clocks: true, Patience: patience,
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

// claim claims an asset, and returns the claim's id.
func claim(t *testing.T, h *Host, asset string) (id string) {
	t.Helper()
	status, answer := call(h, "POST", "/v1/claims", fmt.Sprintf(`{"asset":%q,"task":"t","heartbeat":"1m"}`, asset))
	_, id, _ = strings.Cut(answer, `"claim":{"id":"`)
	id, _, found := strings.Cut(id, `"`)
	if !found {
		t.Fatalf("%d %s", status, answer)
	}
	return id
}

// stages are the set-ups of Redis.
var stages = []string{"standalone", "sentinel", "cluster"}

func TestEachHostServesAndItsAuditIsRead(t *testing.T) {
	for _, topology := range stages {
		t.Run(topology, func(t *testing.T) {
			s, path := setup(t, topology, calm)
			audited := map[string]bool{}
			for _, h := range s.Hosts {
				claim(t, h, "a-"+h.Name)
			}
			s.Stop()
			records, err := history.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if r.Audit != nil && r.Audit.Fields["PICKET_TICKET"] == "a-"+r.Audit.Host+"/t" {
					audited[r.Audit.Host] = true
				}
			}
			if len(audited) != len(s.Hosts) {
				t.Errorf("the audit has claims of %v", audited)
			}
		})
	}
}

func TestRequestsAndRepliesAreCutApart(t *testing.T) {
	s, _ := setup(t, "standalone", calm)
	host, node := s.Hosts[0], s.Nodes[0]
	step := func(claim string) (int, string) {
		return call(host, "POST", "/v1/claims/"+claim+"/steps", `{"step":"online","state":"ASSET_ONLINE"}`)
	}
	if status, answer := step(claim(t, host, "before")); status != 200 { // Redis knows the script from then on
		t.Fatalf("%d %s", status, answer)
	}
	for _, c := range []struct {
		what     string
		from, to Place
		executed bool
	}{{"requests", host, node, false}, {"replies", node, host, true}} {
		claim := claim(t, host, c.what)
		heal := s.Cut(c.from, c.to)
		status, answer := step(claim)
		ticket, err := node.ask(t.Context(), "HVALS", fmt.Sprintf("picket:{%s}:ticket:t", c.what)).StringSlice()
		if status == 200 || err != nil || slices.Contains(ticket, "ASSET_ONLINE") != c.executed {
			t.Errorf("%s cut: %d %s; Redis has %q, %v", c.what, status, answer, ticket, err)
		}
		heal()
		heal()
		if err := host.await(t.Context(), "/readyz"); err != nil {
			t.Errorf("%s healed: %v", c.what, err)
		}
	}
}

func TestADaemonAndAServerAreFrozenKilledAndStartedAgain(t *testing.T) {
	s, _ := setup(t, "standalone", calm)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	host, node := s.Hosts[0], s.Nodes[0]
	if _, err := node.Do(ctx, "SET", "kept", "1"); err != nil {
		t.Error(err)
	}
	node.Freeze()
	if _, err := node.Do(ctx, "PING"); err == nil {
		t.Error("a frozen server answers")
	}
	node.Kill()
	host.Freeze()
	if _, err := host.ask(ctx, "/livez"); err == nil || !host.Running() {
		t.Error("a frozen daemon answers, or is gone")
	}
	host.Kill()
	if host.Running() || node.Running() || host.PID() != 0 {
		t.Error("what was killed runs")
	}
	if err := s.Mend(ctx); err != nil {
		t.Fatal(err)
	}
	if kept, err := node.Do(ctx, "GET", "kept"); kept != "1" {
		t.Errorf("a server that was killed lost what it confirmed: %v, %v", kept, err)
	}
	if err := host.Terminate(ctx); err != nil || host.Running() {
		t.Error(err)
	}
}

func TestTheClockOfAServerIsStepped(t *testing.T) {
	s, _ := setup(t, "standalone", calm)
	ctx, node := t.Context(), s.Nodes[0]
	if _, err := node.Do(ctx, "SET", "short", "1", "EX", 600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{time.Hour, -2 * time.Hour} {
		before := ahead(t, node)
		if err := node.StepClock(step); err != nil {
			t.Fatal(err)
		}
		if moved := ahead(t, node) - before; moved < step-time.Minute || moved > step+time.Minute {
			t.Errorf("a step of %s moved the time by %s", step, moved)
		}
		if left, err := node.Do(ctx, "EXISTS", "short"); left != int64(0) {
			t.Errorf("the key did not expire: %v, %v", left, err)
		}
	}
}

// ahead is by how much a server's time is ahead of the machine's.
func ahead(t *testing.T, n *Node) time.Duration {
	t.Helper()
	at, err := n.ask(t.Context(), "TIME").Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(time.Unix(at[0], at[1]*1000))
}

func TestADiskThatIsFullOrReadOnlyRefusesNotifications(t *testing.T) {
	s, _ := setup(t, "standalone", calm)
	host := s.Hosts[0]
	for name, spoil := range map[string]func() error{"full": host.FillDisk, "read-only": host.ReadOnlyDisk} {
		id := claim(t, host, name)
		for _, step := range []string{
			`{"step":"online","state":"ASSET_ONLINE"}`, `{"step":"vuln","state":"VULN_CHECK_DONE"}`,
			`{"step":"assess","state":"HIGH_RISK_FOUND"}`,
		} {
			if status, answer := call(host, "POST", "/v1/claims/"+id+"/steps", step); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		// What has room in the file that is there would be accepted on a full disk, too.
		body := fmt.Sprintf(`{"title":"x","text":"y","severity":"high","facts":{"long":%q}}`, strings.Repeat("x", 300_000))
		status, answer := call(host, "POST", "/v1/claims/"+id+"/notification", body)
		if status != 503 || !strings.Contains(answer, "OUTBOX_UNAVAILABLE") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
		if err := host.MendDisk(); err != nil {
			t.Fatal(err)
		}
		if err := host.await(t.Context(), "/readyz?verbose"); err != nil {
			t.Error(err)
		}
		if status, answer = call(host, "POST", "/v1/claims/"+id+"/notification", body); status != 202 {
			t.Errorf("%s, mended: %d %s", name, status, answer)
		}
	}
}
