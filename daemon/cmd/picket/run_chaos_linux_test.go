// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/sockapi/client"
)

const (
	chaosOnline = `case $PICKET_ASSET in off-*) echo '{"state": "ASSET_OFFLINE"}' ;; *) ` + saysOnline + ` ;; esac`

	// The scanner of half-* leaves its work in the background the first time, and ends well.
	chaosVuln = `sleep 0.0$(($$ % 10))
case $PICKET_ASSET in
half-*) [ -e "$0.$PICKET_TICKET_FILE" ] || { : >"$0.$PICKET_TICKET_FILE"; (sleep 20; ` + findsRisk + `) & exit 0; } ;;
clean-*) echo '{"findings": []}'; exit ;;
esac
` + findsRisk
)

// chaosRun has picket run on three hosts go through a list again and again while it is killed, frozen and ended, and while its
// output is closed, full, or read by nobody.
type chaosRun struct {
	scanners
	list string
	runs atomic.Int64
}

// harass starts runs on a host, and ends them in all ways, until then.
func (c *chaosRun) harass(h *host, task string, until time.Time) {
	for time.Now().Before(until) {
		cmd := exec.Command("picket", "run", "--config", filepath.Join(c.dir, "agent.toml"), "--socket", h.socket, "--heartbeat", "2s",
			"--parallel", "4", "--give-up", "5s", "--assets", c.list, "--task", task)
		done := c.output(cmd)
		if err := cmd.Start(); err != nil {
			done()
			return
		}
		c.runs.Add(1)
		time.Sleep(time.Duration(100+rand.IntN(900)) * time.Millisecond)
		switch rand.IntN(5) {
		case 0:
			_ = cmd.Process.Signal(unix.SIGTERM)
			time.Sleep(time.Second)
		case 1:
			_ = cmd.Process.Signal(unix.SIGTERM)
			time.Sleep(10 * time.Millisecond)
			_ = cmd.Process.Signal(unix.SIGTERM)
			time.Sleep(time.Second)
		case 2:
			_ = cmd.Process.Signal(unix.SIGSTOP)
			time.Sleep(time.Duration(500+rand.IntN(3000)) * time.Millisecond)
			_ = cmd.Process.Signal(unix.SIGCONT)
			time.Sleep(500 * time.Millisecond)
		case 3:
			time.Sleep(2 * time.Second)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		done()
	}
}

// output gives a command an output of chance: closed, full, or a pipe that nobody reads.
func (c *chaosRun) output(cmd *exec.Cmd) (done func()) {
	switch rand.IntN(4) {
	case 0:
		if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
			cmd.Stdout, cmd.Stderr = f, f
			return func() { _ = f.Close() }
		}
	case 1, 2:
		r, w, err := os.Pipe()
		if err != nil {
			break
		}
		cmd.Stdout, cmd.Stderr = w, w
		if rand.IntN(2) == 0 {
			_ = r.Close()
		}
		_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
		return func() { _, _ = r.Close(), w.Close() }
	}
	return func() {}
}

// TestG6_RunChaos has each asset get its one verdict, the right one, and each high risk told, whatever happens to the runs. With
// PICKET_CHAOS it goes on for so long, and says how many verdicts it has counted.
func TestG6_RunChaos(t *testing.T) {
	t.Parallel()
	length, perKind := 4*time.Second, 6
	if text := os.Getenv("PICKET_CHAOS"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		length, perKind = d, 40
	}
	hook := startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02", "scan-03")
	vuln := strings.ReplaceAll(chaosVuln, "$PICKET_TICKET_FILE", "$PICKET_ASSET-$PICKET_TASK")
	c := &chaosRun{scanners: newScanners(t, chaosOnline, vuln)}
	c.list = filepath.Join(c.dir, "list")
	var assets []string
	for i := range perKind {
		for _, kind := range []string{"risk", "clean", "off"} {
			assets = append(assets, fmt.Sprintf("%s-%d", kind, i))
		}
	}
	assets = append(assets, "half-0")
	if err := os.WriteFile(c.list, []byte(strings.Join(assets, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cl := client.New(hosts[0].socket)
	t.Cleanup(cl.CloseIdleConnections)
	verdicts, right, rounds := 0, 0, 0
	for end := time.Now().Add(length); rounds == 0 || time.Now().Before(end); rounds++ {
		task := fmt.Sprintf("w%d", rounds)
		until := time.Now().Add(min(length, 15*time.Second))
		var harassed sync.WaitGroup
		for _, h := range hosts {
			harassed.Go(func() { c.harass(h, task, until) })
		}
		harassed.Wait()
		c.start(t, hosts[rounds%len(hosts)], "--parallel", "8", "--assets", c.list, "--task", task).wait(t, 0)
		for _, asset := range assets {
			verdicts++
			if c.verdict(t, cl, asset, task, hook) {
				right++
			}
		}
	}
	t.Logf("%d of %d verdicts are right, in %d rounds of %d runs", right, verdicts, rounds, c.runs.Load())
	if right != verdicts {
		t.Error("not all are")
	}
}

// verdict reports whether an asset got the right one, once, and whether people were told if that was due.
func (c *chaosRun) verdict(t *testing.T, cl *client.Client, asset, task string, hook *webhook) bool {
	t.Helper()
	var ticket client.Ticket
	eventually(t, asset+" is finished", func() bool {
		var err error
		ticket, err = cl.Ticket(t.Context(), asset, task)
		return err == nil && ticket.State == client.StateFinished
	})
	history, err := cl.History(t.Context(), asset, task)
	if err != nil {
		t.Fatal(err)
	}
	once := map[string]int{}
	for _, e := range history.Events {
		if e.Event == "step" {
			once[e.Step]++
		}
	}
	told := false
	for _, r := range hook.got() {
		told = told || r.key == fmt.Sprintf("%q", asset+"/"+task)
	}
	kind, _, _ := strings.Cut(asset, "-")
	want := map[string]string{"risk": client.StateHighRiskFound, "half": client.StateHighRiskFound, "clean": client.StateFinished, "off": ""}[kind]
	risky := want == client.StateHighRiskFound
	good := ticket.Steps[client.StepAssess].State == want && told == risky && (ticket.Notification != nil) == risky
	for _, n := range once {
		good = good && n == 1
	}
	if !good {
		t.Errorf("%s: told %v, %s", asset, told, asJSON(t, ticket))
	}
	return good
}
