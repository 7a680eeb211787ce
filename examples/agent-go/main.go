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

func main() {
	socket := flag.String("socket", "/run/picket/picket.sock", "the daemon's socket")
	target := flag.String("target", "", "the service to look at, HOST:PORT")
	report := flag.String("report", "", "Trivy's report, a JSON file")
	flag.Parse()
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

	if state == "INIT" || state == "ASSET_OFFLINE" {
		banner, err := look(target)
		if err != nil {
			if err := step("online", "ASSET_OFFLINE", map[string]string{"error": err.Error()}, "no answer"); err != nil {
				return fmt.Errorf("cannot record OFFLINE: %w", err)
			}
			_, err = picket.Finish(ctx, id, "offline")
			return err
		}
		if err := step("online", "ASSET_ONLINE", map[string]string{"banner": banner}, ""); err != nil {
			return err
		}
	}
	findings, critical, err := read(report)
	if err != nil {
		return err
	}
	if state == "ASSET_ONLINE" {
		if err := step("vuln", "VULN_CHECK_DONE", map[string]any{"findings": findings}, ""); err != nil {
			return err
		}
	}
	if len(critical) == 0 {
		_, err = picket.Finish(ctx, id, "nothing critical")
		return err
	}
	if state == "VULN_CHECK_DONE" {
		if err := step("assess", "HIGH_RISK_FOUND", map[string]any{"critical": critical}, strings.Join(critical, ", ")); err != nil {
			return err
		}
	}
	if state == "HIGH_RISK_FOUND" {
		_, err := picket.Notify(ctx, id, client.NotificationRequest{
			Title: "Critical vulnerability on " + asset, Text: strings.Join(critical, "\n"), Severity: "critical",
		}, 10*time.Second)
		if err != nil {
			return err
		}
	}
	_, err = picket.Finish(ctx, id, strings.Join(critical, ", "))
	return err
}

// look connects to a service and reads the line with which it greets.
func look(target string) (string, error) {
	conn, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	line := make([]byte, 256)
	n, err := conn.Read(line)
	return strings.TrimSpace(string(line[:n])), err
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
