// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What findings may take at most. Longer texts are cut, more findings are refused.
const (
	maxFindings = 200_000
	maxBytes    = 64 << 20 // of all texts of all findings
	maxID       = 128      // bytes
	maxTitle    = 200
	maxPlace    = 512 // a package, a location
	maxAliases  = 64
)

// collector gathers findings, those of one id at one place merged.
type collector struct {
	list  []Finding
	index map[place]int
	bytes int
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
	if f.ID = clean(f.ID, maxID); f.ID == "" {
		return errors.New("it has no id")
	}
	f.Title, f.Package, f.Location = clean(f.Title, maxTitle), clean(f.Package, maxPlace), clean(f.Location, maxPlace)
	f.Severity = severity(f.Severity)
	if f.Severity == "unknown" && f.CVSS > 0 {
		f.Severity = rating(f.CVSS)
	}
	if slices.ContainsFunc(append([]string{f.ID}, f.Aliases...), malicious.MatchString) {
		f.Severity = "critical"
	}
	var aliases []string
	for _, a := range f.Aliases {
		if a = clean(a, maxID); a != "" && a != f.ID && !slices.Contains(aliases, a) && len(aliases) < maxAliases {
			aliases = append(aliases, a)
		}
	}
	f.Aliases = aliases

	key := place{id: f.ID, pkg: f.Package, location: f.Location, apart: f.apart}
	if cveIn(f.ID) != f.ID {
		key.title = f.Title
	}
	if i, ok := c.index[key]; ok {
		merge(&c.list[i], f)
		return nil
	}
	c.bytes += len(f.ID) + len(f.Title) + len(f.Package) + len(f.Location) + len(f.apart)
	for _, a := range f.Aliases {
		c.bytes += len(a)
	}
	if err := over(len(c.list)+1, "findings"); err != nil {
		return err
	}
	if c.bytes > maxBytes {
		return fmt.Errorf("the text of all findings %w of %d MiB", errLimit, maxBytes>>20)
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

// merge keeps the worst that is said of a finding, and all of its names.
func merge(into *Finding, f Finding) {
	into.Severity = worse(into.Severity, f.Severity)
	into.CVSS = max(into.CVSS, f.CVSS)
	into.EPSS = max(into.EPSS, f.EPSS)
	into.KEV = into.KEV || f.KEV
	for _, a := range f.Aliases {
		if !slices.Contains(into.Aliases, a) && len(into.Aliases) < maxAliases {
			into.Aliases = append(into.Aliases, a)
		}
	}
}
