// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
)

// plainFinding is a finding in the form of Finding itself. Who writes it wrote it for this reader, so that what would be lost of its
// severity is an error.
type plainFinding struct {
	ID, Severity, Title, Package, Location text
	FixedIn                                text `json:"fixed_in"`
	URL, Vector                            text
	CVSS, EPSS                             exact
	KEV                                    bool `json:"kev"` // as an error names it
	Aliases                                texts
}

// exact is a number, or one in quotes; null and "" are none.
type exact string

func (e *exact) UnmarshalJSON(b []byte) error {
	var t text
	if err := t.UnmarshalJSON(b); err != nil {
		return err
	}
	*e = exact(strings.TrimSpace(string(t)))
	return nil
}

// within returns the number, which must lie between 0 and most.
func (e exact) within(name string, most float64) (float64, error) {
	if e == "" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(e), 64)
	if err != nil || !(f >= 0 && f <= most) {
		return 0, at("."+name, fmt.Errorf("is %q, should be a number from 0 to %v", plain.Line(string(e), maxID), most))
	}
	return f, nil
}

// parsePlain reads {"findings": […]}.
func parsePlain(src *source, into *collector) error {
	d, err := newDocument(src)
	if err != nil {
		return err
	}
	found := false
	err = d.object(fields{"findings": func() error {
		found = true
		return d.must(list(d, func(raw *json.RawMessage) error {
			f, err := readPlain(*raw)
			if err != nil {
				return d.explain(err)
			}
			return into.add(f)
		}))
	}})
	if err != nil {
		return err
	}
	if !found {
		return errors.New(`it has no list named "findings"`)
	}
	return d.end()
}

func readPlain(raw json.RawMessage) (Finding, error) {
	var p plainFinding
	if err := json.Unmarshal(raw, &p); err != nil {
		return Finding{}, err
	}
	if p.ID == "" {
		return Finding{}, errors.New("it has no id")
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err != nil {
		return Finding{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if meant := misspelt(name); meant != "" {
			return Finding{}, fmt.Errorf("its field %q is not known, should be %q", plain.Line(name, 64), meant)
		}
	}
	word := strings.ToLower(strings.TrimSpace(string(p.Severity)))
	if word != "" && word != "unknown" && severity(word) == "unknown" {
		return Finding{}, at(".severity", fmt.Errorf("is %q, should be one of %s", plain.Line(word, 64), strings.Join(severities, ", ")))
	}
	f := Finding{
		Severity: word, Title: string(p.Title), Package: string(p.Package), Location: string(p.Location), KEV: p.KEV,
		FixedIn: string(p.FixedIn), URL: string(p.URL), Vector: string(p.Vector),
	}
	f.ID, f.Aliases = identify(append([]string{string(p.ID)}, p.Aliases...)...)
	var err error
	if f.CVSS, err = p.CVSS.within("cvss", 10); err != nil {
		return Finding{}, err
	}
	f.EPSS, err = p.EPSS.within("epss", 1)
	return f, err
}

// misspelt says which field a name was probably meant for, of those that say how bad a finding is; "" for any other name.
func misspelt(name string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	for _, known := range []string{"severity", "cvss", "epss", "kev"} {
		if strings.EqualFold(name, known) {
			return ""
		}
	}
	switch {
	case strings.Contains(word, "cvss"), word == "cvs", word == "cvvs", word == "csvs", word == "score", word == "basescore":
		return "cvss"
	case strings.Contains(word, "sever"), word != "security" && strict.Distance(word, "severity") <= 2:
		return "severity"
	case strings.HasPrefix(word, "epss") && word != "epsspercentile" && word != "epssdate":
		return "epss"
	}
	return ""
}
