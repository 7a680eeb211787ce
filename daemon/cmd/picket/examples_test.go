// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

func TestExampleAgents(t *testing.T) {
	t.Parallel()
	hook, program := startWebhook(t), buildAgent(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	port := startService(t, "127.0.0.1:0")
	report := "../../../examples/findings/trivy.json"
	compact, empty := compactReport(t, report), writeReport(t, `{"Results": []}`)
	shell := func(asset, port, report string) []string {
		return []string{"picket", "exec", asset, "w48", "--", "../../../examples/agent.sh", "127.0.0.1", port, report}
	}
	goes := func(asset, port, report string) []string {
		return []string{program, "-target", "127.0.0.1:" + port, "-report", report, asset, "w48"}
	}
	python := func(asset, port, report string) []string {
		return []string{"python3", "../../../examples/agent.py", "127.0.0.1", port, report, asset, "w48"}
	}
	library := func(asset, port, report string) []string {
		return []string{"../../../examples/agent-lib.sh", "127.0.0.1", port, report, asset, "w48"}
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	for _, c := range []struct {
		asset   string
		command []string
		summary string
		steps   int
	}{
		{"risky", shell("risky", port, report), "2 critical findings", 3},
		{"compact", shell("compact", port, compact), "2 critical findings", 3},
		{"clean", shell("clean", port, empty), "", 3},
		{"offline", shell("offline", "1", report), "", 1},
		{"go-risky", goes("go-risky", port, report), "CVE-2021-44228, CVE-2022-42889", 3},
		{"go-clean", goes("go-clean", port, empty), "nothing critical", 2},
		{"go-offline", goes("go-offline", "1", report), "offline", 1},
		{"py-risky", python("py-risky", port, report), "CVE-2021-44228, CVE-2022-42889", 3},
		{"py-clean", python("py-clean", port, empty), "nothing critical", 2},
		{"py-null", python("py-null", port, writeReport(t, `{"Results": [{"Target": "x", "Vulnerabilities": null}]}`)), "nothing critical", 2},
		{"py-offline", python("py-offline", "1", report), "offline", 1},
		{"lib-risky", library("lib-risky", port, report), "2 critical findings", 3},
		{"lib-clean", library("lib-clean", port, empty), "nothing critical", 2},
		{"lib-offline", library("lib-offline", "1", report), "offline", 1},
		{"curl", []string{"../../../examples/agent-curl.sh", "curl", "w48"}, "nothing found", 2},
		{`cu"r\l`, []string{"../../../examples/agent-curl.sh", `cu"r\l`, "w48"}, "nothing found", 2},
	} {
		t.Run(c.asset, func(t *testing.T) {
			if strings.HasPrefix(c.asset, "cu") && !hasProgram("curl") {
				t.Skip("curl is not installed")
			}
			for range 2 { // the second time there is nothing left to do
				cmd := exec.Command(c.command[0], c.command[1:]...)
				cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			var ticket client.Ticket
			eventually(t, "the ticket is finished", func() bool {
				var err error
				ticket, err = cl.Ticket(t.Context(), c.asset, "w48")
				return err == nil && ticket.State == client.StateFinished
			})
			if ticket.Summary != c.summary || len(ticket.Steps) != c.steps {
				t.Errorf("the ticket is %s", asJSON(t, ticket))
			}
		})
	}
	var keys []string
	for _, r := range hook.got() {
		keys = append(keys, r.key)
	}
	slices.Sort(keys)
	if want := []string{`"compact/w48"`, `"go-risky/w48"`, `"lib-risky/w48"`, `"py-risky/w48"`, `"risky/w48"`}; !slices.Equal(keys, want) {
		t.Errorf("people were told %q, want %q", keys, want)
	}

	// A host from somebody's inventory is no command.
	folder := t.TempDir()
	cmd := exec.Command("picket", "exec", "evil", "w48", "--", "../../../examples/agent.sh", "127.0.0.1/1; touch "+folder+"/run; :", port, report)
	cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
	out, err := cmd.CombinedOutput()
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("a host's name was run as a command: %v\n%s", err, out)
	}

	// No report is a failure, and never "nothing found".
	missing := filepath.Join(t.TempDir(), "missing.json")
	for asset, command := range map[string][]string{
		"no-report":        shell("no-report", port, missing),
		"folder-report":    shell("folder-report", port, t.TempDir()),
		"go-no-report":     goes("go-no-report", port, missing),
		"go-no-json":       goes("go-no-json", port, writeReport(t, "oops")),
		"go-folder-report": goes("go-folder-report", port, t.TempDir()),
		"py-no-report":     python("py-no-report", port, missing),
		"py-null-report":   python("py-null-report", port, writeReport(t, "null")),
		"py-list-report":   python("py-list-report", port, writeReport(t, `{"Results": ["x"]}`)),
		"py-no-json":       python("py-no-json", port, writeReport(t, "oops")),
		"lib-no-report":    library("lib-no-report", port, missing),
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
		out, err := cmd.CombinedOutput()
		ticket, _ := cl.Ticket(t.Context(), asset, "w48")
		if err == nil || ticket.State != client.StateAssetOnline || ticket.Failure == nil || ticket.Failure.Step != client.StepVuln {
			t.Errorf("%s: %v, and the ticket is %s\n%s", asset, err, asJSON(t, ticket), out)
		}
	}
}

// TestAnExampleDecidesFromWhatIsRecorded: when the scan's report is gone, what was found in it is not.
func TestAnExampleDecidesFromWhatIsRecorded(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	h := startHosts(t, hook.channel(), "scan-01")[0]
	report, err := os.ReadFile("../../../examples/findings/trivy.json")
	if err != nil {
		t.Fatal(err)
	}
	cl := client.New(h.socket)
	t.Cleanup(cl.CloseIdleConnections)
	got, err := cl.Claim(t.Context(), client.ClaimRequest{Asset: "gone", Task: "w48"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone, Facts: report},
	} {
		if _, err := cl.Step(t.Context(), got.Claim.ID, step); err != nil {
			t.Fatal(err)
		}
	}
	if err := cl.Release(t.Context(), got.Claim.ID); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../../examples/agent-lib.sh", "127.0.0.1", "1", filepath.Join(t.TempDir(), "gone.json"), "gone", "w48")
	cmd.Env = append(os.Environ(), "PICKET_SOCKET="+h.socket)
	out, err := cmd.CombinedOutput()
	ticket, _ := cl.Ticket(t.Context(), "gone", "w48")
	if err != nil || ticket.Notification == nil || ticket.Summary != "2 critical findings" {
		t.Errorf("%v, and the ticket is %s\n%s", err, asJSON(t, ticket), out)
	}
}

func TestExampleAgentsNeedArguments(t *testing.T) {
	t.Parallel()
	for _, cmd := range []*exec.Cmd{exec.Command(buildAgent(t)), exec.Command("python3", "../../../examples/agent.py")} {
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitUsage || !bytes.HasPrefix(out, []byte("usage: ")) {
			t.Errorf("%s ends with %v and says %s", cmd, err, out)
		}
	}
}

func writeReport(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// compactReport is the same report without spaces.
func compactReport(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		t.Fatal(err)
	}
	return writeReport(t, compact.String())
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
