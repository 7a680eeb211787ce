// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
)

// document is a file of accepted risks.
type document struct {
	Accept []entry `toml:"accept"`
}

// entry is an accepted risk as it stands in the file. All but the package must be given.
type entry struct {
	ID      string      `toml:"id"`
	Assets  []string    `toml:"assets"`
	Package string      `toml:"package"` // Defaults to any
	Until   strict.Date `toml:"until"`   // the last day, in UTC
	By      string      `toml:"by"`
	Reason  string      `toml:"reason"`
}

// readEntries makes rules of a file of accepted risks. Its error is a strict.Error, with a line for each thing that is wrong.
func readEntries(path string, doc []byte) ([]rule, error) {
	var d document
	lines, problems, read := strict.Decode(bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")), &d)
	if !read {
		return nil, strict.Located(path, lines, problems)
	}
	var more strict.Problems
	more.Demand(len(d.Accept) <= maxEntries, "accept", "has %d entries: write %d at most, and the rest into another file", len(d.Accept), maxEntries)
	var rules []rule
	problems = problems[:min(len(problems), maxWrong)]
	for i, e := range d.Accept {
		if len(more) >= maxWrong {
			break
		}
		key := fmt.Sprintf("accept[%d]", i)
		r := e.rule(&more, key)
		r.number, r.source = i, fmt.Sprintf("%s:%d", path, lines[key])
		rules = append(rules, r)
	}
	for i, p := range problems {
		if strings.HasSuffix(p.Key, ".until") && !strings.Contains(p.Message, "such as") {
			problems[i].Message += ": write a day, such as 2027-01-31"
		}
	}
	return rules, strict.Located(path, lines, strict.Beside(problems, more))
}

// rule checks an entry.
func (e entry) rule(wrong *strict.Problems, key string) rule {
	why := wrongID(e.ID)
	wrong.Demand(why == "", key+".id", "%s", why)
	var about []pattern
	for _, text := range e.Assets {
		p, why := newPattern(text)
		wrong.Demand(why == "", key+".assets", "%q %s", plain.Line(text, maxID), why)
		about = append(about, p)
	}
	wrong.Demand(len(about) > 0, key+".assets", `is empty: write names, patterns or networks, such as ["web-*", "10.0.0.0/8"], or ["*"] for all assets`)
	wrong.Demand(len(about) <= maxPatterns, key+".assets", "has %d: write %d at most", len(about), maxPatterns)
	wrong.Demand(e.Until != strict.Date{}, key+".until", "is missing: write the last day of the acceptance, such as 2027-01-31")
	for name, text := range map[string]string{"by": e.By, "reason": e.Reason} {
		wrong.Demand(strings.TrimSpace(text) != "", key+"."+name, "is empty: whoever reads the report must know it")
		wrong.Demand(len(text) <= maxReason, key+"."+name, "has more than %d bytes: write less", maxReason)
	}
	wrong.Demand(len(e.Package) <= maxPackage && strings.TrimSpace(e.Package) == e.Package, key+".package", "is no package: write its name as findings have it, or name and version with a space between")
	return rule{
		id: e.ID, names: []string{e.ID}, by: e.By, reason: e.Reason, accepts: true,
		until: e.Until.String(), over: e.Until.AsTime(time.UTC).AddDate(0, 0, 1),
		meets: func(s subject, f findings.Finding) bool {
			for _, p := range about {
				if p.meets(s) {
					return e.Package == "" || f.Package == e.Package || strings.HasPrefix(f.Package, e.Package+" ")
				}
			}
			return false
		},
	}
}

// Limits of a file, in numbers and in bytes.
const (
	maxFile     = 16 << 20
	maxEntries  = 20_000 // or statements of a document
	maxPatterns = 1_000
	maxReason   = 4 << 10
	maxPackage  = 512
	maxWrong    = 100 // mistakes that are told
)
