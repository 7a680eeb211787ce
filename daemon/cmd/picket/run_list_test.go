// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// TestRunRefusesWhatIsWrongForEveryAsset: once, before anything is done, and not as a failure of each asset.
func TestRunRefusesWhatIsWrongForEveryAsset(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("web-01\nweb-02\nweb-03\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"..", "w48"}, exitData, `the asset ".." is . or ..`},
		{[]string{"web-01", "b c/"}, exitData, `the task "b c/" must have 1 to 128 of`},
		{[]string{"--assets", list, "--task", "a/b"}, exitData, `the task "a/b" must have 1 to 128 of`},
		{[]string{"--assets", list, "--task", "w48", "--max-hold", "48h"}, exitData, "max_hold"},
		{[]string{"--assets", list, "--task", "w48", "--max-hold", "1ms"}, exitUsage, "--max-hold takes at least 1s"},
	} {
		r := s.start(t, h, c.args...)
		r.wait(t, c.code)
		if n := strings.Count(r.log.String(), c.says); n != 1 || len(r.results(t)) > 0 {
			t.Errorf("%q: it says\n%s\nand prints\n%s\nwant %s", c.args, &r.log, &r.out, c.says)
		}
	}
	if n := len(s.calls("online")); n > 0 {
		t.Errorf("%d assets were worked on", n)
	}
}

// TestRunTellsTheLineOfWhatIsNoAsset: of what the daemon refuses too. The same asset, written in other ways, counts once.
func TestRunTellsTheLineOfWhatIsNoAsset(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("::1\n[::1]\n0:0:0:0:0:0:0:1\nWeb.Example.org\nweb.example.org.\n[fe80::1%a ]\nx\x01y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, h, "--assets", list, "--task", "w48")
	r.wait(t, exitFailed)
	lines, done := map[int]agent.Result{}, 0
	for _, one := range r.results(t) {
		if one.Outcome == agent.Done {
			done++
		} else {
			lines[one.Line] = one
		}
	}
	if done != 2 || len(lines) != 2 || !strings.HasPrefix(lines[6].Error, "line 6: ") || lines[7].Asset != "x y" ||
		lines[7].Error != "line 7 has a control character" {
		t.Errorf("it says %s", &r.out)
	}
	if want := "picket: 2 of 4 done, 0 at high risk, 2 failed"; !strings.Contains(r.log.String(), want) {
		t.Errorf("it says %s, without %q", &r.log, want)
	}
	if n := strings.Count(r.log.String(), "the daemon has no channel"); n != 1 {
		t.Errorf("it says %d times that the daemon has no channel", n)
	}
}

// TestRunSaysWhyATicketIsFailed: of one whose notification nobody got.
func TestRunSaysWhyATicketIsFailed(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "[[channel]]\nname = \"ops\"\ntype = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n", "scan-01")[0]
	s := newScanners(t, saysOnline, findsRisk)
	first := s.start(t, h, "web-01", "w48")
	first.wait(t, 0)
	if got := first.results(t); len(got) != 1 || got[0].Told || got[0].State != client.StateNotifying {
		t.Errorf("it says %s", &first.out)
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	ticket, err := cl.Ticket(t.Context(), "web-01", "w48")
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(verdict.Why(ticket).Words, "\n"); !strings.Contains(words, "People are being told (ops: pending") {
		t.Errorf("it is explained by\n%s", words)
	}
	if _, err := cl.Discard(t.Context(), "web-01", "w48", "ops", "nobody reads it"); err != nil {
		t.Fatal(err)
	}
	again := s.start(t, h, "web-01", "w48")
	again.wait(t, exitFailed)
	if got := again.results(t); len(got) != 1 || !strings.HasPrefix(got[0].Error, "the ticket is FAILED: people were not told (ops: discarded") {
		t.Errorf("it says %s", &again.out)
	}
	if ticket, err = cl.Ticket(t.Context(), "web-01", "w48"); err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(verdict.Why(ticket).Words, "\n"); !strings.Contains(words, "People were not told (ops: discarded") {
		t.Errorf("it is explained by\n%s", words)
	}
}

// TestRunCheckLooksForProgramsAndCatalogues: all that is missing is told, before a run finds out.
func TestRunCheckLooksForProgramsAndCatalogues(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "agent.toml")
	text := "[step.vuln]\ncommand = [\"no-such-scanner\"]\n[step.intel]\nkev = \"/nowhere/kev.json\"\nepss = \"/nowhere/epss.csv\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("picket", "run", "--check", "--config", config).CombinedOutput()
	if code := err.(*exec.ExitError).ExitCode(); code != exitConfig {
		t.Errorf("it ends with %d", code)
	}
	for _, want := range []string{"step.vuln.command: cannot run no-such-scanner: executable file not found", "step.intel.kev: cannot read", "step.intel.epss: cannot read"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it says %s, without %q", out, want)
		}
	}
}

// TestRunWritesAnAssetAsTheDaemonDoes: or a machine would stand in a list twice.
func TestRunWritesAnAssetAsTheDaemonDoes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"web-01", "WEB-01", "WEB-01.", "Web.Example.COM.", "a..b", ".A.b", "a.b..", "_x.Example", "BÜRO.example", "\u212a.example", "192.0.2.7", "192.0.2.7.",
		"192.0.2.07", "192.0.2.7:443", "2001:DB8:0::1", "[2001:db8::1]", "[2001:db8::1]:443", "[192.0.2.7]", "FE80::1%Eth0", "::ffff:192.0.2.7", "http://A/", "a.", "-.-", "a b",
	} {
		want, err := canonicalAsset(s)
		if got := assets.Canonical(s); err != nil || got != want {
			t.Errorf("%q is %q here and %q for the daemon, %v", s, got, want, err)
		}
	}
	for r := rune(0x20); r < 0x20000; r++ {
		s := "a" + string(r) + "b"
		if _, err := canonicalAsset(s); (err == nil) != (assets.Check(s) == "") {
			t.Errorf("%q is refused by one of run and daemon: %v, %q", s, err, assets.Check(s))
		}
	}
}

// TestAnEmptyListIsNoGreenNight: what makes the list has failed.
func TestAnEmptyListIsNoGreenNight(t *testing.T) {
	t.Parallel()
	s := newScanners(t, saysOnline, findsRisk)
	list := filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte("# made at night\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start(t, &host{socket: "/nowhere"}, "--assets", list, "--task", "w48")
	r.wait(t, exitData)
	if !strings.Contains(r.log.String(), "it has no asset") {
		t.Errorf("it says %s", &r.log)
	}
}
