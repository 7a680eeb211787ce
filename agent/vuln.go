// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"io"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// Bounds of what a command writes, in bytes.
const (
	maxReport = 1 << 30   // of a scanner's report, which is parsed while it comes
	maxPlain  = 256 << 20 // of a list of findings
)

// vuln runs the scanner, or reads its report, and records what was found. A report that cannot be read to its end is an error
// and never "nothing found".
func (j *job) vuln(ctx context.Context) (verdict.Record, error) {
	c := j.a.config.Step.Vuln
	var out verdict.Record
	var report findings.Report
	consume := func(r io.Reader) (err error) {
		if c.Parse == "" {
			report.Ended = true // it is one document
			out, err = verdict.ReadOwn(r)
		} else if c.Parse == verdict.PlainFindings {
			report, err = verdict.ReadFindings(ctx, r)
		} else {
			report, err = findings.Read(ctx, c.Parse, r, c.OKExit)
		}
		return err
	}
	limit := int64(maxReport)
	switch c.Parse {
	case "":
		limit = maxOwn
	case verdict.PlainFindings:
		limit = maxPlain
	}
	var err error
	if j.a.plan.file != nil {
		err = j.readFile(ctx, limit, consume, &report)
	} else {
		okExit := c.OKExit
		if okExit == nil && c.Parse != "" {
			okExit = findings.OKExit(c.Parse)
		}
		scanner := c.Parse != "" && c.Parse != verdict.PlainFindings
		err = j.command(ctx, j.a.plan.vuln, okExit, limit, scanner, consume)
	}
	if err != nil {
		return verdict.Record{}, err
	}
	if c.Parse == "" {
		return verdict.OwnVuln(out, report.Notes)
	}
	found := verdict.FactsOf(report)
	facts, err := plain.JSON(found)
	if err != nil {
		return verdict.Record{}, err
	}
	return verdict.Record{State: client.StateVulnCheckDone, Facts: facts, Summary: found.Summary()}, nil
}
