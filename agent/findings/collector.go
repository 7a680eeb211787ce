// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// What a report may take at most. More is refused.
const (
	maxFindings = 200_000
	maxBytes    = 128 << 20 // of all that is kept of a report while it is read
	overhead    = 256       // bytes that one thing takes beside its texts
)

// collector gathers findings, those of one id at one place merged, and what else a report says.
type collector struct {
	ctx     context.Context // nil where nothing ends it
	okExit  []int
	list    []Finding
	index   map[place]int
	bytes   int // what is kept of the report
	added   int // how often add was called
	further map[string]bool
	targets map[string]bool
	report  Report
}

// take counts what is kept.
func (c *collector) take(texts ...string) error {
	c.bytes += overhead
	for _, s := range texts {
		c.bytes += len(s)
	}
	if c.bytes > maxBytes {
		return fmt.Errorf("what is kept of it %w of %d MiB", errLimit, maxBytes>>20)
	}
	return nil
}

// inside lets read gather findings whose place is told behind them, hands each to place, and takes what comes of it.
func (c *collector) inside(read func(*collector) error, place func(*Finding)) error {
	inner := collector{ctx: c.ctx, bytes: c.bytes}
	if err := read(&inner); err != nil {
		return err
	}
	for id := range inner.further {
		if err := c.beyond(id); err != nil {
			return err
		}
	}
	for _, f := range inner.list {
		place(&f)
		if err := c.add(f); err != nil {
			return err
		}
	}
	return nil
}

// place tells findings apart. The title does so only for what is no CVE: one rule of a scanner may find several things.
type place struct{ id, pkg, location, title, apart string }

// marked tells a finding apart by texts that are too long to be kept.
func marked(f Finding, texts ...string) Finding {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	f.apart = string(sum[:])
	return f
}

// malicious is how the OpenSSF's database names malicious packages (https://github.com/ossf/malicious-packages). They have no
// score, and scanners call them unknown.
var malicious = regexp.MustCompile(`(?i)^MAL-[0-9]{4}-`)

// add cleans a finding and takes it. score counts for the severity too, where the scanner has not rated it.
func (c *collector) add(f Finding) error {
	if c.added++; c.added%1024 == 0 && c.ctx != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if f.ID = plain.Line(f.ID, maxID); f.ID == "" {
		return errors.New("it has no id")
	}
	f.Title, f.Package, f.Location = plain.Line(f.Title, maxTitle), plain.Line(f.Package, maxPlace), plain.Line(f.Location, maxPlace)
	f.FixedIn, f.URL, f.Vector = plain.Line(f.FixedIn, maxID), link(f.URL), plain.Line(f.Vector, maxPlace)
	f.Severity = severity(f.Severity)
	if f.Severity == "unknown" && f.CVSS > 0 {
		f.Severity = rating(f.CVSS)
	}
	if slices.ContainsFunc(f.Names(), malicious.MatchString) {
		f.Severity = "critical"
	}
	if f.CVSS > 0 {
		f.Vector = ""
	}
	given := f.Aliases
	f.Aliases = nil
	if err := c.names(&f, given); err != nil {
		return err
	}
	key := place{id: f.ID, pkg: f.Package, location: f.Location, apart: f.apart}
	if cveIn(f.ID) != f.ID {
		key.title = f.Title
	}
	if i, ok := c.index[key]; ok {
		return c.merge(&c.list[i], f)
	}
	if err := over(len(c.list)+1, "findings"); err != nil {
		return err
	}
	texts := append([]string{f.ID, f.Title, f.Package, f.Location, f.apart, f.FixedIn, f.URL, f.Vector}, f.Aliases...)
	if err := c.take(texts...); err != nil {
		return err
	}
	if c.index == nil {
		c.index = map[place]int{}
	}
	c.index[key] = len(c.list)
	c.list = append(c.list, f)
	return nil
}

func over(n int, what string) error {
	if n > maxFindings {
		return fmt.Errorf("the number of %s %w of %d", what, errLimit, maxFindings)
	}
	return nil
}

// names gives a finding further names. Of those for which there is no room, the CVEs are kept beside the findings.
func (c *collector) names(f *Finding, names []string) error {
	if len(names) == 0 {
		return nil
	}
	seen := map[string]bool{f.ID: true, "": true}
	for _, a := range f.Aliases {
		seen[a] = true
	}
	for _, a := range names {
		if a = plain.Line(a, maxID); seen[a] {
			continue
		}
		seen[a] = true
		if len(f.Aliases) < maxAliases {
			f.Aliases = append(f.Aliases, a)
		} else if err := c.beyond(cveIn(a)); err != nil {
			return err
		}
	}
	return nil
}

// beyond keeps a CVE that no finding has room for.
func (c *collector) beyond(cve string) error {
	if cve == "" || c.further[cve] {
		return nil
	}
	if c.further == nil {
		c.further = map[string]bool{}
	}
	c.further[cve] = true
	c.report.further = append(c.report.further, cve)
	return c.take(cve)
}

// merge keeps the worst that is said of a finding, and all of its names.
func (c *collector) merge(into *Finding, f Finding) error {
	into.Severity = worse(into.Severity, f.Severity)
	into.CVSS = max(into.CVSS, f.CVSS)
	into.EPSS = max(into.EPSS, f.EPSS)
	into.KEV = into.KEV || f.KEV
	into.FixedIn, into.URL = cmp.Or(into.FixedIn, f.FixedIn), cmp.Or(into.URL, f.URL)
	if into.Vector = cmp.Or(into.Vector, f.Vector); into.CVSS > 0 {
		into.Vector = ""
	}
	return c.names(into, f.Aliases)
}

// maxTargets is how many targets of a report are kept.
const maxTargets = 1000

// hosts makes a target of the hosts that its names tell.
func (c *collector) hosts(names ...string) {
	for i, name := range names {
		names[i] = HostOf(name)
	}
	c.target(names...)
}

// target notes what was looked at. A report that names more targets than are kept is foreign by those already.
func (c *collector) target(names ...string) {
	var all []string
	for _, name := range names {
		if name = strings.ToLower(plain.Line(name, maxPlace)); name != "" && !slices.Contains(all, name) && len(all) < maxAliases {
			all = append(all, name)
		}
	}
	key := strings.Join(all, "\x00")
	if len(all) == 0 || c.targets[key] || len(c.report.Targets) == maxTargets {
		return
	}
	if c.targets == nil {
		c.targets = map[string]bool{}
	}
	c.targets[key] = true
	c.report.Targets = append(c.report.Targets, all)
}

// made notes a time at which a part of the scan ended; the last one counts.
func (c *collector) made(t time.Time) {
	if t.After(c.report.Made) {
		c.report.Made = t
	}
}

// madeAt reads a time as JSON has it; what is none says nothing.
func (c *collector) madeAt(s text) {
	if t, err := time.Parse(time.RFC3339, string(s)); err == nil {
		c.made(t)
	}
}

// note keeps a line, the first few of them.
func (c *collector) note(line string) {
	if line = plain.Line(line, maxTitle); line != "" && len(c.report.Notes) < 10 && !slices.Contains(c.report.Notes, line) {
		c.report.Notes = append(c.report.Notes, line)
	}
}

// untried keeps a line that says that not all was tried.
func (c *collector) untried(line string) {
	c.report.Incomplete = true
	c.note(line)
}
