// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// picket is the command, built once.
var picket = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ui-bin-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir, "github.com/picketd/picket/daemon/cmd/picket")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as packages are made, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build: %w: %s", err, out)
	}
	return filepath.Join(dir, "picket"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := picket(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// stage is a fleet of real daemons over a real Redis, with receivers on loopback: ops takes everything, desk refuses for good, and of
// the pager nobody knows what it got.
type stage struct {
	*testing.T
	dir, picket, redis, hook string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	path, err := picket()
	must(t, err)
	dir, err := os.MkdirTemp("", "ui-") // short, because a socket's path must be
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/desk":
			w.WriteHeader(http.StatusGone)
		case "/pager":
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(hook.Close)
	return &stage{T: t, dir: dir, picket: path, redis: redistest.Start(t).Addr(), hook: hook.URL}
}

// process starts the command, which ends with the test.
func (s *stage) process(args ...string) (*exec.Cmd, io.Reader) {
	s.Helper()
	cmd := exec.Command(s.picket, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	must(s.T, err)
	must(s.T, cmd.Start())
	s.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGINT)
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait()
	})
	return cmd, out
}

func (s *stage) socket(host string) string { return filepath.Join(s.dir, host+".s") }

// daemon starts a host's daemon, and waits until it serves.
func (s *stage) daemon(host, ttl string) (*exec.Cmd, *client.Client) {
	s.Helper()
	config := fmt.Sprintf("host = %q\nstate_dir = %q\nadmin_group = \"\"\nsocket = { path = %q, mode = \"0600\", group = \"\" }\nredis = { addrs = [%q] }\nlock = { ttl = %q }\n",
		host, filepath.Join(s.dir, host), s.socket(host), s.redis, ttl)
	for _, channel := range []string{"ops", "desk", "pager"} {
		config += fmt.Sprintf("[[channel]]\nname = %q\ntype = \"webhook\"\nurl = \"%s/%s\"\nat_most_once = %v\n", channel, s.hook, channel, channel == "pager")
	}
	file := filepath.Join(s.dir, host+".toml")
	must(s.T, os.WriteFile(file, []byte(config), 0o600))
	cmd, _ := s.process("daemon", "--config", file)
	c := client.New(s.socket(host))
	s.Cleanup(c.CloseIdleConnections)
	s.until(host+" serves", func() bool {
		status, err := c.Status(s.Context())
		return err == nil && status.Ready
	})
	return cmd, c
}

func (s *stage) until(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(browserLimit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatal("never: " + what)
		}
	}
}

// pages starts picket ui, and returns the address that it prints.
func (s *stage) pages(args ...string) string {
	s.Helper()
	_, out := s.process(append([]string{"ui", "--socket", s.socket("scan-02")}, args...)...)
	first, err := bufio.NewReader(out).ReadString('\n')
	must(s.T, err)
	return strings.TrimSpace(first)
}

// risky takes an asset to where people are told, under a claim that waits for the asset for a minute.
func risky(ctx context.Context, c *client.Client, asset string) error {
	granted, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: "w48", Heartbeat: "10m", Wait: "1m"})
	if err != nil {
		return err
	}
	found := `{"count":1,"max_cvss":10,"top_cvss":10,"critical":1,"digest":"d","findings":[{"id":"CVE-2021-44228","severity":"critical","cvss":10,"title":"Log4Shell",` +
		`"package":"log4j-core 2.14.1","kev":true,"fixed_in":"2.17.1"}]}`
	for _, r := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline, Summary: "port 22 is open"},
		{Step: client.StepVuln, State: client.StateVulnCheckDone, Summary: "1 finding, 1 critical", Facts: []byte(found)},
		{Step: client.StepAssess, State: client.StateHighRiskFound, Summary: "high risk: max_cvss >= 9 (max_cvss is 10)"},
	} {
		if _, err := c.Step(ctx, granted.Claim.ID, r); err != nil {
			return err
		}
	}
	r := client.NotificationRequest{Title: "High risk on " + asset + ": CVE-2021-44228", Text: "Patch log4j-core.", Severity: client.SeverityCritical}
	if _, err := c.Notify(ctx, granted.Claim.ID, r, time.Second); err != nil {
		return err
	}
	return c.Release(ctx, granted.Claim.ID)
}

// frozen plays the minute that Picket exists for: the daemon of scan-01 freezes under its claim on db-01, scan-02 takes over, and what
// the woken agent writes is refused.
func (s *stage) frozen(daemon *exec.Cmd, first, second *client.Client) {
	s.Helper()
	granted, err := first.Claim(s.Context(), client.ClaimRequest{Asset: "db-01", Task: "w48", Heartbeat: "10m"})
	must(s.T, err)
	must(s.T, daemon.Process.Signal(syscall.SIGSTOP))
	must(s.T, risky(s.Context(), second, "db-01"))
	must(s.T, daemon.Process.Signal(syscall.SIGCONT))
	_, err = first.Step(s.Context(), granted.Claim.ID, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline})
	if err == nil {
		s.Fatal("the frozen writer was not refused")
	}
}

// TestStoryInABrowser looks at a real fleet as a person would: which host is down, why db-01 is at high risk, what happened to the
// frozen writer, what waits for a decision. It decides that, and finds the decision in the history.
func TestStoryInABrowser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	daemon, first := s.daemon("scan-01", "3s")
	_, second := s.daemon("scan-02", "15s")
	s.frozen(daemon, first, second)
	must(t, risky(t.Context(), second, "web-01"))
	s.until("all is settled", func() bool {
		ticket, err := second.Ticket(t.Context(), "web-01", "w48")
		return err == nil && ticket.Delivery["pager"].Status == client.DeliveryParked && ticket.Delivery["desk"].Status == client.DeliveryDead
	})
	must(t, daemon.Process.Kill())
	run := exec.Command(s.picket, "run", "--config", "examples/agent-run/agent.toml", "--assets", "examples/agent-run/assets", "--task", "w49", "--report", "nightly",
		"--socket", s.socket("scan-02"))
	run.Dir = ".."
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("picket run: %v: %s", err, out)
	}

	tb := openTab(t, s.pages())
	tb.inspect(axeOr(t), "/", "/waiting", "/tasks", "/tickets?task=w48", "/claims", "/reports", pathOf("db-01", "w48"), "/act?do=reopen&asset=web-01&task=w48")

	tb.open(pathOf("db-01", "w48"))
	tb.waits("scan-01 wanted to record ASSET_OFFLINE (online)")
	for what, selector := range map[string]string{
		"the refused write":                      ".history li.refused .cross",
		"the lane of the claim that froze":       ".history li .lane.n0.dot",
		"the lane of the claim that took over":   ".history li .lane.n1.dot",
		"the state that was wanted, in the flow": ".flow.wide .box.refused",
		"the finding":                            "table th[scope=row]",
	} {
		if n := evaluate[float64](tb, fmt.Sprintf("document.querySelectorAll(%q).length", selector)); n == 0 {
			t.Errorf("%s is not drawn", what)
		}
	}
	tb.waits("CVE-2021-44228")

	tb.window(1100, "light")
	tb.picture("ticket", 1000)
	evaluate[bool](tb, `document.getElementById("history").scrollIntoView({behavior: "instant"}); true`)
	tb.picture("history", 560)
	tb.open("/reports")
	tb.waits("nightly")
	tb.do(chromedp.Click(chromedp.CSS(`a[aria-label="Read it: nightly in task w49"]`)))
	tb.waits("Log4Shell")
	tb.shoot("report")
	tb.open("/waiting")
	tb.waits("web-01/w48")
	tb.picture("waiting", 600)
	tb.do(chromedp.Click(chromedp.CSS(`a[aria-label="It arrived: web-01/w48 on pager"]`)))
	tb.waits("Why?")
	tb.do(chromedp.SendKeys(chromedp.CSS("#reason"), "the pager's log has it"), chromedp.Click(chromedp.CSS("form button")))
	tb.waits("It is recorded that the notification arrived.")
	tb.waits("the pager's log has it")
	tb.shoot("decided")
	history, err := second.History(t.Context(), "web-01", "w48")
	must(t, err)
	last := history.Events[len(history.Events)-1]
	for _, e := range history.Events {
		if e.Event == "settled" && e.Step == "pager" {
			last = e
		}
	}
	if !strings.Contains(last.Reason, "the pager's log has it") || last.Agent == "notifier" {
		t.Errorf("the history has %+v", last)
	}

	tb.open("/")
	s.until("the page tells that scan-01 is down", func() bool {
		return strings.Contains(evaluate[string](tb, text), "scan-01 is down")
	})
	tb.picture("fleet", 760)
}

// picture leaves the upper part of a page among the test's artefacts, and where PICKET_PICTURES says: docs/ui has them from there.
func (tb *tab) picture(name string, high int64) {
	tb.Helper()
	tb.do(chromedp.EmulateViewport(1100, high))
	var picture []byte
	tb.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		r, err := chromedp.Call(ctx, browserpage.CaptureScreenshot, browserpage.CaptureScreenshotParams{Format: browserpage.CaptureScreenshotFormatWebp, Quality: new(int64(75))})
		picture = r.Data
		return err
	}))
	for _, dir := range []string{tb.ArtifactDir(), os.Getenv("PICKET_PICTURES")} {
		if dir != "" {
			must(tb.T, os.WriteFile(filepath.Join(dir, name+".webp"), picture, 0o644))
		}
	}
}
