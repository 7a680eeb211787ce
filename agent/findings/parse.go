// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// format is one kind of output.
type format struct {
	name   string
	title  string // for people
	parse  func(*source, *collector) error
	okExit []int // see OKExit
}

func formats() []format {
	return []format{
		{"nuclei", "nuclei JSON", parseNuclei, []int{0}},
		{"trivy", "Trivy JSON", parseTrivy, []int{0}},
		{"grype", "Grype JSON", parseGrype, []int{0, 2}}, // 2: --fail-on, after everything is printed
		{"nmap", "nmap XML", parseNmap, []int{0}},
		{"osv", "OSV-Scanner JSON", parseOSV, []int{0, 1}}, // 1: vulnerabilities found
		{"sarif", "SARIF", parseSARIF, []int{0}},
		{"findings", "a list of findings", parsePlain, []int{0}},
	}
}

func lookup(name string) (format, bool) {
	all := formats()
	i := slices.IndexFunc(all, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return all[i], true
}

// Formats lists the names that Parse knows.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// OKExit returns the exit codes with which the scanner of a format says, by its documentation, that its scan is complete.
// It is nil for a format that Parse does not know.
func OKExit(format string) []int {
	f, _ := lookup(format)
	return f.okExit
}

// Parse returns the findings of Read.
func Parse(format string, r io.Reader) ([]Finding, error) {
	report, err := Read(context.Background(), format, r, nil)
	return report.Findings, err
}

// Read reads the whole output of a scanner. The findings come in the scanner's order, those of one id at one place merged.
// An output that is cut off, damaged, too large or another scanner's is an error, and then there are no findings at all:
// half a scan must not be taken for a clean one. So is one that is not read when ctx is done. okExit are the exit codes with
// which the scanner was said to end after a whole scan, beside those of OKExit; SARIF tells its tool's.
func Read(ctx context.Context, format string, r io.Reader, okExit []int) (Report, error) {
	f, ok := lookup(format)
	if !ok {
		return Report{}, fmt.Errorf("cannot read output as %q: known are %s", format, strings.Join(Formats(), ", "))
	}
	src := newSource(canceled{ctx, r})
	into := collector{ctx: ctx, okExit: okExit, report: Report{Ended: true}}
	if err := f.parse(src, &into); err != nil {
		if other := guess(src.head); other != "" && other != f.title && !errors.Is(err, errLimit) && ctx.Err() == nil {
			return Report{}, fmt.Errorf("cannot read the output as %s: %w; it looks like %s", f.title, err, other)
		}
		return Report{}, fmt.Errorf("cannot read the output as %s: %w", f.title, err)
	}
	for i := range into.list {
		into.list[i].apart = ""
	}
	into.report.Findings = into.list
	return into.report, nil
}

// canceled ends with its context what is read.
type canceled struct {
	ctx context.Context
	r   io.Reader
}

func (c canceled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// jsonStart is how an object or a list begins; a line of a log may begin with a bracket too.
var jsonStart = regexp.MustCompile(`^(\{|\[\s*[\[\]{"]|null)`)

// guess says what an output looks like by its beginning; "" when it looks like nothing that is known here.
func guess(head []byte) string {
	head = bytes.TrimSpace(head)
	switch {
	case len(head) == 0:
		return ""
	case head[0] == '<':
		if bytes.Contains(head, []byte("<nmaprun")) {
			return "nmap XML"
		}
		return "XML"
	case !jsonStart.Match(head):
		return "text"
	}
	for _, g := range []struct {
		name    string
		needles []string // all of them
	}{
		{"CycloneDX", []string{`"bomFormat"`}},
		{"SPDX", []string{`"spdxVersion"`}},
		{"SARIF", []string{`"runs"`}},
		{"SARIF", []string{`sarif-`}},
		{"nuclei JSON", []string{`"template-id"`}},
		{"nuclei JSON", []string{`"templateID"`}},
		{"Grype JSON", []string{`"matches"`}},
		{"Trivy JSON", []string{`"SchemaVersion"`}},
		{"Trivy JSON", []string{`"Results"`}},
		{"Trivy JSON", []string{`"Target"`, `"Type"`}},
		{"Semgrep JSON", []string{`"results"`, `"check_id"`}},
		{"Semgrep JSON", []string{`"results"`, `"errors"`, `"paths"`}},
		{"Bandit JSON", []string{`"results"`, `"errors"`, `"metrics"`}},
		{"OSV-Scanner JSON", []string{`"results"`, `"packages"`}},
		{"OSV-Scanner JSON", []string{`"results"`, `"experimental_config"`}},
		{"CISA's catalogue", []string{`"catalogVersion"`}},
		{"a list of findings", []string{`"findings"`}},
	} {
		all := true
		for _, needle := range g.needles {
			all = all && bytes.Contains(head, []byte(needle))
		}
		if all {
			return g.name
		}
	}
	return ""
}
