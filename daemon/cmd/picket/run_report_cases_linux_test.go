// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/sockapi/client"
)

// writeList writes a list.
func writeList(t *testing.T, s scanners, name string, assets ...string) (path string) {
	t.Helper()
	path = filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(assets, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAReportOfTwoLists: runs with other assets under the same name and task are in one report, which says so; what is in no list the next night
// is told.
func TestAReportOfTwoLists(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02")
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; `+findsRisk)
	s.configure(t, "[notification]\neach = \"none\"\n")
	one, two := writeList(t, s, "one", "web-01", "web-02"), writeList(t, s, "two", "web-02", "web-03", "no asset\x01")
	a := s.start(t, hosts[0], "--assets", one, "--task", "n1", "--report", "nightly")
	b := s.start(t, hosts[1], "--assets", two, "--task", "n1", "--report", "nightly")
	eventually(t, "both are at work", func() bool { return len(s.calls("vuln")) == 3 })
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.wait(t, 0)
	b.wait(t, exitFailed) // for the line that is no asset
	got := reported(t, hook, "n1")
	if c := got.Counts; c.Assets != 3 || c.HighRisk != 3 || c.New != 3 || !strings.Contains(strings.Join(got.Notes, " "), "2 different lists under this name and task, with 2, 2 assets") {
		t.Errorf("it says %+v, %q", c, got.Notes)
	}
	s.start(t, hosts[0], "--assets", one, "--task", "n2", "--report", "nightly").wait(t, 0)
	got = reported(t, hook, "n2")
	if c := got.Counts; c.Assets != 2 || c.New+c.Fixed != 0 || c.NotScanned != 1 || len(got.NotScanned) != 1 || got.NotScanned[0].Asset != "web-03" {
		t.Errorf("it says %+v, %+v", c, got.NotScanned)
	}
	if n := len(hook.got()); n != 2 {
		t.Errorf("%d messages were sent", n)
	}
}

// TestAReportTellsOfLinesThatAreNoAssets: nobody scans what they were meant for, also when nothing else is to be told.
func TestAReportTellsOfLinesThatAreNoAssets(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, findsRisk)
	s.configure(t, "[report]\nwhen = \"changes\"\n")
	list := writeList(t, s, "list", "web-01", "list:nightly")
	for _, task := range []string{"n1", "n2"} {
		s.start(t, h, "--assets", list, "--task", task, "--report", "nightly").wait(t, exitFailed)
		if got := strings.Join(reported(t, hook, task).Notes, " "); !strings.Contains(got, "1 line of a list can be no asset, and was not scanned: line 2, \"list:nightly\" ") {
			t.Errorf("%s says %q", task, got)
		}
	}
}

// TestWhatAReportMissesIsToldByItself: what is found when the report is made already, and what is examined outside of any list.
func TestWhatAReportMissesIsToldByItself(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `[ "$PICKET_ASSET" != late ] || while ! [ -e "$0.go" ]; do sleep 0.05; done; `+findsRisk)
	s.configure(t, "[notification]\neach = \"none\"\n[report]\nname = \"nightly\"\nafter = \"2s\"\n")
	run := s.start(t, h, "--assets", writeList(t, s, "list", "web-01", "late"), "--task", "n1")
	got := reported(t, hook, "n1")
	if c := got.Counts; c.Assets != 2 || c.HighRisk != 1 || c.NotScanned != 1 || !strings.Contains(strings.Join(got.Notes, " "), "when not all was settled") {
		t.Errorf("it says %+v, %q", c, got.Notes)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run.wait(t, 0)
	s.start(t, h, "alone", "n1").wait(t, 0)
	told := map[string]bool{}
	eventually(t, "what is late, and what stands alone, is told", func() bool {
		for _, got := range hook.got() {
			told[got.key] = true
		}
		return told[`"late/n1"`] && told[`"alone/n1"`]
	})
	if told[`"web-01/n1"`] {
		t.Error("what the report tells is told by itself, too")
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	page, err := cl.Tickets(t.Context(), client.TicketQuery{HighRisk: true})
	if err != nil || len(page.Tickets) != 3 {
		t.Errorf("at high risk are %+v, %v", page.Tickets, err)
	}
}

// TestWhatIsFoundWhileAReportIsGatheredIsToldByItself: the report may have passed the asset already.
func TestWhatIsFoundWhileAReportIsGatheredIsToldByItself(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `[ "$PICKET_ASSET" != late ] || while ! [ -e "$0.go" ]; do sleep 0.05; done; `+findsRisk)
	s.configure(t, "[notification]\neach = \"none\"\n[report]\nname = \"nightly\"\nafter = \"2s\"\n")
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	var once sync.Once
	front := between(t, h, "/reports/nightly", func(int64, *http.Response) error {
		if report, err := cl.Ticket(t.Context(), "list:nightly", "n1"); err != nil || report.Holder == nil {
			return nil // not gathered yet
		}
		once.Do(func() {
			if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
				t.Error(err)
			}
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if late, err := cl.Ticket(t.Context(), "late", "n1"); err == nil && late.HighRisk != nil {
					return
				}
			}
			t.Error("what is late is not assessed")
		})
		return nil
	})
	s.start(t, front, "--assets", writeList(t, s, "list", "web-01", "late"), "--task", "n1").wait(t, 0)
	reported(t, hook, "n1")
	eventually(t, "what is late is told", func() bool {
		return slices.ContainsFunc(hook.got(), func(got received) bool { return got.key == `"late/n1"` })
	})
}

// TestEachNeedsAReport: what nobody would be told of is refused before anything is scanned.
func TestEachNeedsAReport(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, findsRisk)
	s.configure(t, "[notification]\neach = \"critical\"\n")
	list := writeList(t, s, "list", "web-01", "web-02")
	for _, args := range [][]string{{"--assets", list, "--task", "n1"}, {"--check"}, {"web-01", "n1"}} {
		r := s.start(t, h, args...)
		r.wait(t, exitConfig)
		if !strings.Contains(r.log.String(), "notification.each: is \"critical\", and there is no report to tell of the others") {
			t.Errorf("%q: it says %s", args, &r.log)
		}
	}
	s.start(t, h, "--check", "--report", "nightly").wait(t, 0)
	for _, args := range [][]string{{"web-01", "n1", "--report", "nightly"}, {"--assets", list, "--task", "n1", "--report", "a/b"}, {"--assets", list, "--task", "n1", "--report", ".."}, {"--assets", list, "--task", "n1", "--report", ""}} {
		s.start(t, h, args...).wait(t, exitUsage)
	}
	if n := len(s.calls("online")); n > 0 {
		t.Errorf("%d assets were asked", n)
	}
}

// TestANightInWhichEveryScanFailedIsTold, at the head of the report, by its reason; and one without anything new is not, if only changes are to be told.
func TestANightInWhichEveryScanFailedIsTold(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `[ "$PICKET_TASK" != n3 ] || { echo "no licence" >&2; exit 3; }; echo '{"findings": []}'`)
	s.configure(t, "retries = 0\n[report]\nname = \"nightly\"\nwhen = \"changes\"\n")
	list := writeList(t, s, "list", "web-01", "web-02")
	quiet := s.start(t, h, "--assets", list, "--task", "n2")
	quiet.wait(t, 0)
	results := quiet.results(t)
	if last := results[len(results)-1]; last.Asset != "list:nightly" || last.State != client.StateFinished || last.Told {
		t.Errorf("it ends with %+v", last)
	}
	if got := hook.got(); len(got) != 0 {
		t.Errorf("people are told of nothing new: %s", got[0].body)
	}
	s.start(t, h, "--assets", list, "--task", "n3").wait(t, exitFailed)
	got := reported(t, hook, "n3")
	if c := got.Counts; c.Failed != 2 || got.Previous == nil || *got.Previous != "n2" || len(got.Reasons) != 1 || got.Reasons[0].Count != 2 {
		t.Errorf("it says %+v, %+v", c, got.Reasons)
	}
	if !strings.Contains(string(hook.got()[0].body), "NOTHING WAS SCANNED") {
		t.Errorf("it says %s", hook.got()[0].body)
	}
}

// TestG9_AReportOutlivesWhoGatheredIt: the receiver refuses it until its host is dead for good; another's daemon delivers the very same.
func TestG9_AReportOutlivesWhoGatheredIt(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	var open atomic.Bool
	refused := make(chan struct{}, 1000)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open.Load() {
			body, _ := io.ReadAll(r.Body)
			hook.mu.Lock()
			defer hook.mu.Unlock()
			hook.requests = append(hook.requests, received{r.Header.Get("Idempotency-Key"), body})
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		select {
		case refused <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(door.Close)
	hosts := startHosts(t, "[[channel]]\nname = \"ops\"\ntype = \"webhook\"\nurl = \""+door.URL+"/hook\"\n", "scan-01", "scan-02")
	s := newScanners(t, saysOnline, findsRisk)
	s.configure(t, "[notification]\neach = \"none\"\n[report]\nname = \"nightly\"\n")
	run := s.start(t, hosts[0], "--assets", writeList(t, s, "list", "web-01", "web-02"), "--task", "n1")
	run.wait(t, 0)
	<-refused
	hosts[0].kill()
	open.Store(true)
	cl := client.New(hosts[1].socket)
	t.Cleanup(cl.CloseIdleConnections)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // a host is dead after 35 s at the earliest
		ticket, err := cl.Ticket(t.Context(), "list:nightly", "n1")
		if err == nil && ticket.State == client.StateFinished {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is not delivered: %s, %v", asJSON(t, ticket), err)
		}
	}
	if got := reported(t, hook, "n1"); got.Counts.HighRisk != 2 {
		t.Errorf("it says %+v", got.Counts)
	}
	again := s.start(t, hosts[1], "--assets", filepath.Join(s.dir, "list"), "--task", "n1")
	again.wait(t, 0)
	results := again.results(t)
	if last := results[len(results)-1]; last.Outcome != agent.Done || !last.Told {
		t.Errorf("it ends with %+v", last)
	}
}

// TestARunThatIsStoppedLeavesItsReport to the others, which need not wait until it is not heard of any more.
func TestARunThatIsStoppedLeavesItsReport(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	s := newScanners(t, saysOnline, `while ! [ -e "$0.go" ]; do sleep 0.05; done; [ "$PICKET_ASSET" != web-02 ] || exit 3; `+findsRisk)
	s.configure(t, "retries = 0\n[report]\nname = \"nightly\"\n")
	list := writeList(t, s, "list", "web-01", "web-02")
	run := s.start(t, h, "--assets", list, "--task", "n1")
	eventually(t, "it is at work", func() bool { return len(s.calls("vuln")) == 2 })
	if err := run.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal has arrived", func() bool { return strings.Contains(run.log.String(), "once more") })
	if err := os.WriteFile(filepath.Join(s.dir, "vuln.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run.wait(t, exitFailed)
	results := run.results(t)
	if last := results[len(results)-1]; last.Asset != "list:nightly" || last.Outcome != agent.Stopped {
		t.Errorf("it ends with %+v", last)
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	noted, err := cl.NoteReport(t.Context(), "n1", "nightly", client.ReportRequest{List: strings.Repeat("0a", 32), Total: 1, Run: "other"})
	if err != nil || noted.Works != 0 || len(noted.Lists) != 2 {
		t.Errorf("%+v, %v", noted, err)
	}
	s.start(t, h, "--assets", list, "--task", "n1", "--give-up", "1s").wait(t, exitFailed)
	if got := reported(t, hook, "n1"); got.Counts.Assets != 2 || got.Counts.Failed != 1 || !strings.Contains(strings.Join(got.Notes, " "), "Redis lost the names of 1 asset") {
		t.Errorf("it says %+v, %q", got.Counts, got.Notes)
	}
}
