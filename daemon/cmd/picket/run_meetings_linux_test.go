// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// TestListsThatOverlapDoEachAssetOnce: two hosts, one task, and lists of which some assets are the same.
func TestListsThatOverlapDoEachAssetOnce(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02")
	s := newScanners(t, saysOnline, `sleep 0.1; echo '{"findings": []}'`)
	var runs []*runner
	for i, names := range []string{"web-01\nweb-02\nweb-03\nweb-04\n", "web-03\nweb-04\nweb-05\nweb-06\n"} {
		list := filepath.Join(s.dir, hosts[i].dir[strings.LastIndex(hosts[i].dir, "/")+1:])
		if err := os.WriteFile(list, []byte(names), 0o600); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, s.start(t, hosts[i], "--assets", list, "--task", "w48", "--parallel", "2"))
	}
	for _, r := range runs {
		r.wait(t, 0)
		if results := r.results(t); len(results) != 4 || slices.ContainsFunc(results, func(one agent.Result) bool { return one.Outcome != agent.Done }) {
			t.Errorf("it says %s", &r.out)
		}
	}
	if calls := s.calls("vuln"); len(calls) != 6 {
		t.Errorf("the scanner ran for %q", calls)
	}
	if out, code := hosts[0].picket("task", "show", "w48"); code != exitTempFail || !strings.Contains(out, "lists      2: how far they are the same is not known") {
		t.Errorf("task show ends with %d and says\n%s", code, out)
	}
}

// TestAListOutlivesAHostThatStandsStill: daemon and run are stopped by hand while they hold assets of a chunk; another host does them, and
// what wakes changes nothing and ends well.
func TestAListOutlivesAHostThatStandsStill(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, "", "scan-01", "scan-02")
	s := newScanners(t, saysOnline, `[ "$PICKET_SOCKET" != `+hosts[0].socket+` ] || while ! [ -e "$0.go" ]; do sleep 0.05; done; echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\nweb-03\nweb-04\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	still := s.start(t, hosts[0], "--assets", list, "--task", "w48", "--parallel", "2")
	eventually(t, "it holds two", func() bool { return len(s.calls("vuln")) == 2 })
	hosts[0].freeze()
	_ = still.cmd.Process.Signal(unix.SIGSTOP)
	other := s.start(t, hosts[1], "--assets", list, "--task", "w48", "--parallel", "2")
	other.wait(t, 0)
	if results := other.results(t); len(results) != 4 || slices.ContainsFunc(results, func(one agent.Result) bool { return one.Outcome != agent.Done }) {
		t.Errorf("the other says %s", &other.out)
	}
	hosts[0].thaw()
	_ = still.cmd.Process.Signal(unix.SIGCONT)
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	still.wait(t, 0)
	out, code := hosts[0].picket("ticket", "history", "web-01", "w48")
	if code != 0 || strings.Count(out, "step assess") != 1 {
		t.Errorf("its history is\n%s", out)
	}
}

// TestAnExportMissesNothingThatIsWrittenMeanwhile: a ticket that moves from the last page to the first.
func TestAnExportMissesNothingThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s, list, assets := addressList(t, maxPage+5)
	s.start(t, h, "--assets", list, "--task", "w48", "--parallel", "16").wait(t, 0)
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	page, err := cl.Tickets(t.Context(), client.TicketQuery{Limit: maxPage})
	if err != nil {
		t.Fatal(err)
	}
	last, err := cl.Tickets(t.Context(), client.TicketQuery{Limit: maxPage, Cursor: page.Cursor})
	if err != nil || len(last.Tickets) != 5 {
		t.Fatalf("the last page has %d tickets, %v", len(last.Tickets), err)
	}
	moved := last.Tickets[4]
	front := between(t, h, "/v1/tickets", func(number int64, _ *http.Response) error {
		if number == 1 {
			_, err = cl.Reopen(t.Context(), moved.Asset, moved.Task, "once more")
		}
		return err
	})
	out, code := front.picket("ticket", "export")
	runs := map[string]int64{}
	for line := range strings.Lines(out) {
		var one exported
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		runs[one.Ticket.ID] = one.Ticket.Run
	}
	if code != 0 || len(runs) != len(assets) || runs[moved.ID] != 2 {
		t.Errorf("it ends with %d and has %d of %d tickets, the one that moved in run %d", code, len(runs), len(assets), runs[moved.ID])
	}
}
