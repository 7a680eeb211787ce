// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// theRisk is the asset of the list that is at high risk, with nmap as with the reports.
const theRisk = "127.0.0.1"

// scanned is a line of picket run.
type scanned struct {
	Asset, Outcome, Summary string
	Skipped                 bool  // it was done before
	MS                      int64 `json:"duration_ms"`
	host                    string
}

// list has two hosts share a list of assets.
func list(ctx context.Context, s *stage, hook *receiver, examples string) {
	heading("1. A list of assets, shared by two hosts")
	risky := startService(theRisk+":0", ftpGreeting)
	defer risky.close()
	_, port, err := net.SplitHostPort(risky.addr)
	check("tell the service's port", err)
	sound := startService(net.JoinHostPort("127.0.0.2", port), sshGreeting)
	defer sound.close()
	examples, err = filepath.Abs(filepath.Join(examples, "agent-run"))
	check("find the examples", err)
	config, how := scanConfig(examples, port)
	check("write the configuration of picket run", os.WriteFile(s.path("agent.toml"), []byte(config), 0o600))
	say("%s. Both hosts take the same list, three addresses of this machine; nothing listens on the last:", how)
	say("$ picket run --config agent.toml --parallel 1 --assets %s --task w48", filepath.Join("examples", "agent-run", "assets"))
	var agents []*actor
	hosts := []string{"scan-01", "scan-02"}
	for _, host := range hosts {
		agents = append(agents, s.start("picket run on "+host, exec.Command(s.picket, "run", "--json", "--parallel", "1", "--socket", s.socket(host),
			"--config", s.path("agent.toml"), "--assets", filepath.Join(examples, "assets"), "--task", "w48")))
	}
	var lines []scanned
	for i, a := range agents {
		expect(ctx, a, 0)
		lines = append(lines, scannedBy(hosts[i], a.said.String())...)
	}
	showScanned(lines)
	arrival(ctx, hook)
	s.finished(ctx, "scan-01", theRisk, "w48")
	say("Each asset was done once, by whoever had its lock, and people were told once. The receipt finished the ticket. Its history, as picket ticket history %s w48 tells it:", theRisk)
	s.history(ctx, "scan-01", theRisk, "w48")
}

// scanConfig is the configuration of picket run: with nmap where it is installed, else with reports that a scanner has left.
func scanConfig(examples, port string) (config, how string) {
	online := fmt.Sprintf("[step.online]\ntcp = [%s]\n", port)
	if _, err := exec.LookPath("nmap"); err != nil {
		return online + fmt.Sprintf("[step.vuln]\nfile = %q\nmax_age = \"36500d\"\nparse = \"findings\"\n", filepath.Join(examples, "reports", "{{.Asset}}.json")),
			"picket run is the agent that comes with Picket. It connects to each asset, and takes over what a scanner has reported (with nmap installed, it would scan)"
	}
	return online + fmt.Sprintf(`[step.vuln]
command = ["nmap", "-Pn", "-n", "-sV", "-p", %q, "-oX", "-", "--", "{{.Asset}}"]
parse = "nmap"
[step.assess]
high_risk = 'any(findings, .package == "vsftpd 2.3.4")'
[notification]
title = "vsftpd 2.3.4 with its backdoor (CVE-2011-2523) on {{.Asset}}"
`, port), "picket run is the agent that comes with Picket. It connects to each asset, has nmap look which service that is, and decides by a condition whether the risk is high"
}

// scannedBy are the lines in which a host did something itself.
func scannedBy(host, said string) (lines []scanned) {
	for line := range strings.Lines(said) {
		r := scanned{host: host}
		if json.Unmarshal([]byte(line), &r) == nil && r.Outcome != "" && !r.Skipped {
			lines = append(lines, r)
		}
	}
	return lines
}

// showScanned shows who did each asset: of two, the one that only finished what was on its way has worked less.
func showScanned(lines []scanned) {
	slices.SortFunc(lines, func(a, b scanned) int {
		return cmp.Or(strings.Compare(a.Asset, b.Asset), cmp.Compare(b.MS, a.MS))
	})
	lines = slices.CompactFunc(lines, func(a, b scanned) bool { return a.Asset == b.Asset })
	rows := []string{"ASSET\tHOST\tSUMMARY"}
	for _, l := range lines {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", l.Asset, l.host, cut(l.Summary, 56)))
	}
	columnsOf(rows)
}

// cut shortens a text to some number of characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
