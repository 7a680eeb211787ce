// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// plainFindings is the format that no scanner has, but programs that are written for this.
const plainFindings = "findings"

// vuln runs the scanner, or reads its report, and records what was found. A report that cannot be read to its end is an error
// and never "nothing found".
func (j *job) vuln(ctx context.Context) (result, error) {
	c := j.a.config.Step.Vuln
	var out result
	var report findings.Report
	consume := func(r io.Reader) (err error) {
		if c.Parse == "" {
			report.Ended = true // it is one document
			out, err = readOwn(r)
		} else if c.Parse == plainFindings {
			report, err = readFindings(ctx, r)
		} else {
			report, err = findings.Read(ctx, c.Parse, r, c.OKExit)
		}
		return err
	}
	limit := int64(maxReport)
	switch c.Parse {
	case "":
		limit = maxOwn
	case plainFindings:
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
		scanner := c.Parse != "" && c.Parse != plainFindings
		err = j.command(ctx, j.a.plan.vuln, okExit, limit, scanner, consume)
	}
	if err != nil {
		return result{}, err
	}
	if c.Parse == "" {
		return ownVuln(out, report.Notes)
	}
	found := factsOf(report)
	facts, err := plain.JSON(found)
	if err != nil {
		return result{}, err
	}
	return result{client.StateVulnCheckDone, facts, found.summary()}, nil
}

// readFindings reads {"findings": […]} and nothing else: beside an error, an empty list would not say that nothing was found.
func readFindings(ctx context.Context, r io.Reader) (findings.Report, error) {
	copied, w := io.Pipe()
	checked := make(chan error)
	go func() {
		err := findingsForm.checkFrom(copied)
		_, _ = io.Copy(io.Discard, copied) // until it is read to its end
		checked <- err
	}()
	r = transform.NewReader(r, unicode.BOMOverride(transform.Nop))
	report, err := findings.Read(ctx, plainFindings, io.TeeReader(r, w), nil)
	_ = w.Close()
	if wrong := <-checked; err == nil && wrong != nil {
		return findings.Report{}, wrong
	}
	return report, err
}

// ownVuln completes what a command said in Picket's own form: the findings in their common form, the figures, and what is left
// open.
func ownVuln(out result, notes []string) (result, error) {
	if out.State != client.StateVulnCheckDone {
		return out, nil // it is checked against the flow where it is recorded
	}
	if out.Facts == nil {
		return result{}, errors.New(`there are no findings in its facts: "findings": [] is needed when nothing was found`)
	}
	report, err := findings.Read(context.Background(), plainFindings, bytes.NewReader(out.Facts), nil)
	if err != nil {
		return result{}, fmt.Errorf("its facts cannot be used: %w", err)
	}
	if err := toldError(out.Facts); err != nil {
		return result{}, err
	}
	report.Notes = append(report.Notes, notes...)
	complete, err := completed(report, out.Facts)
	if err != nil {
		return result{}, fmt.Errorf("its facts cannot be used: %w", err)
	}
	ours, err := plain.JSON(complete)
	if err != nil {
		return result{}, err
	}
	if out.Facts, err = merged(out.Facts, ours); err != nil {
		return result{}, err
	}
	if out.Summary == "" {
		out.Summary = complete.summary()
	}
	return out, nil
}

// merged is an object with the members of two, where the second's hold.
func merged(first, second json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, object := range []json.RawMessage{first, second} {
		if err := json.Unmarshal(object, &all); err != nil {
			return nil, err
		}
	}
	b, err := plain.JSON(all)
	if err == nil && len(b) > maxFacts {
		err = fmt.Errorf("%w: its facts have more than %d KiB", errTooLarge, maxFacts>>10)
	}
	return b, err
}

// summary is what is found, and what is left open.
func (f vulnFacts) summary() string {
	return plain.Cut(strings.Join(append([]string{f.sentence()}, f.Notes...), "; "), maxSummary)
}

// sentence sums the figures up for people.
func (f figures) sentence() string {
	said := fmt.Sprintf("%d findings, %d critical, %d high", f.Count, f.Critical, f.High)
	upTo := "up to "
	switch f.Count {
	case 0:
		return "nothing found"
	case 1:
		said, upTo = "1 finding", ""
		if f.Critical > 0 {
			said = "1 critical finding"
		} else if f.High > 0 {
			said = "1 high finding"
		}
	}
	if f.Unknown > 0 {
		said += fmt.Sprintf(", %d of unknown severity", f.Unknown)
	}
	if f.Unread > 0 {
		said += fmt.Sprintf(", %d with a CVSS vector that cannot be read", f.Unread)
	}
	if f.TopCVSS > 0 {
		said += ", CVSS " + upTo + num(f.TopCVSS)
	}
	return said
}
