// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command agent-go is an agent in Go: it looks whether a service answers, takes what a scanner found from Trivy's report, and
// has people told when it is critical.
//
//	agent-go -target HOST:PORT -report FILE ASSET TASK
//
// It may be frozen or killed at any point: Picket refuses what it writes too late, and the next run resumes.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// The API's limits, in bytes.
const (
	maxSummary = 4 << 10
	maxText    = 32 << 10
)

// patience is how long a service may be away before its asset is called offline.
const patience = 2 * time.Second

func main() {
	socket := flag.String("socket", cmp.Or(os.Getenv("PICKET_SOCKET"), "/run/picket/picket.sock"), "the daemon's socket")
	target := flag.String("target", "", "the service to look at, HOST:PORT")
	report := flag.String("report", "", "Trivy's report, a JSON file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: agent-go -target HOST:PORT -report FILE ASSET TASK")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 || *target == "" || *report == "" {
		flag.Usage()
		os.Exit(64)
	}
	err := run(context.Background(), client.New(*socket), flag.Arg(0), flag.Arg(1), *target, *report)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	var p *client.Problem
	switch {
	case errors.As(err, &p) && (p.Code == client.ClaimLost || p.Code == client.StaleToken):
		os.Exit(124)
	case err != nil:
		os.Exit(1)
	}
}

func run(ctx context.Context, picket *client.Client, asset, task, target, report string) error {
	r, err := picket.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Wait: "30s"})
	if err != nil || r.Claim == nil {
		return err // without a claim and an error, all is done already
	}
	id, state := r.Claim.ID, r.Ticket.State
	step := func(name, to string, facts any, summary string) error {
		f, err := json.Marshal(facts)
		if err != nil {
			return err
		}
		w, err := picket.Step(ctx, id, client.StepRequest{Step: name, State: to, Facts: f, Summary: summary})
		state = w.Ticket.State
		return err
	}

	if state == client.StateInit || state == client.StateAssetOffline {
		banner, err := look(target)
		if err != nil {
			if err := step(client.StepOnline, client.StateAssetOffline, map[string]string{"error": err.Error()}, "no answer"); err != nil {
				return fmt.Errorf("cannot record OFFLINE: %w", err)
			}
			_, err = picket.Finish(ctx, id, "offline")
			return err
		}
		if err := step(client.StepOnline, client.StateAssetOnline, map[string]string{"banner": banner}, ""); err != nil {
			return err
		}
	}
	findings, critical, err := read(report)
	if err != nil { // no report is not "nothing found"
		_, told := picket.Fail(ctx, id, client.FailureRequest{Step: client.StepVuln, Error: err.Error()})
		return errors.Join(err, told)
	}
	if state == client.StateAssetOnline {
		if err := step(client.StepVuln, client.StateVulnCheckDone, map[string]any{"findings": findings}, ""); err != nil {
			return err
		}
	}
	if len(critical) == 0 {
		_, err = picket.Finish(ctx, id, "nothing critical")
		return err
	}
	summary := list(critical, ", ", maxSummary)
	if state == client.StateVulnCheckDone {
		if err := step(client.StepAssess, client.StateHighRiskFound, map[string]any{"critical": critical}, summary); err != nil {
			return err
		}
	}
	if state == client.StateHighRiskFound {
		_, err := picket.Notify(ctx, id, client.NotificationRequest{
			Title: "Critical vulnerability on " + asset, Text: list(critical, "\n", maxText), Severity: client.SeverityCritical,
		}, 10*time.Second)
		if err != nil {
			return err
		}
	}
	_, err = picket.Finish(ctx, id, summary)
	return err
}

// look connects to a service, and returns the line with which it greets: many say nothing, and are online all the same.
func look(target string) (banner string, err error) {
	for end := time.Now().Add(patience); ; {
		conn, err := net.DialTimeout("tcp", target, patience)
		if err == nil {
			return greeting(conn), nil
		}
		fmt.Fprintln(os.Stderr, "no answer, looking again:", err)
		if time.Sleep(patience / 4); time.Now().After(end) {
			return "", err
		}
	}
}

func greeting(conn net.Conn) string {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(patience / 2)) // of an open connection
	line := make([]byte, 256)
	n, _ := conn.Read(line) // what came, if anything did
	return strings.TrimSpace(string(line[:n]))
}

// list joins items. Those that do not fit into limit bytes are only counted.
func list(items []string, separator string, limit int) string {
	var b strings.Builder
	for i, item := range items {
		rest := fmt.Sprintf("and %d more", len(items)-i)
		if b.Len()+len(item)+len(separator)+len(rest) > limit {
			return b.String() + rest
		}
		b.WriteString(item)
		if i < len(items)-1 {
			b.WriteString(separator)
		}
	}
	return b.String()
}

type finding struct {
	VulnerabilityID  string
	PkgName          string
	InstalledVersion string
	Severity         string
}

// read takes the findings from Trivy's report, and of them the critical ones' ids.
func read(report string) (findings []finding, critical []string, err error) {
	b, err := os.ReadFile(report)
	if err != nil {
		return nil, nil, err
	}
	var r struct {
		Results []struct{ Vulnerabilities []finding }
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", report, err)
	}
	for _, result := range r.Results {
		for _, f := range result.Vulnerabilities {
			findings = append(findings, f)
			if f.Severity == "CRITICAL" {
				critical = append(critical, f.VulnerabilityID)
			}
		}
	}
	return findings, critical, nil
}
