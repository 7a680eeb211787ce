// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// What a finding's texts may take at most, in bytes, and how many aliases it has. Longer texts are cut.
const (
	maxID      = 128
	maxTitle   = 200
	maxPlace   = 512 // a package, a location
	maxAliases = 64
)

// text is a string; scanners write a number or null in the place of one too.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case '{', '[':
		return errors.New("should be text")
	case 'n':
		*t = ""
	default:
		*t = text(b)
	}
	return nil
}

// texts is a list of strings; scanners write one string with commas in it, or null, in the place of one too.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		var all []text
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
		for _, one := range all {
			*t = append(*t, string(one))
		}
		return nil
	}
	var one text
	if err := one.UnmarshalJSON(b); err != nil {
		return err
	}
	for _, part := range strings.Split(string(one), ",") {
		if part = strings.TrimSpace(part); part != "" {
			*t = append(*t, part)
		}
	}
	return nil
}

// number is a number, or one in quotes; anything else, and what no float64 can hold, counts as 0.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	*n = parseNumber(string(bytes.Trim(b, `"`)))
	return nil
}

func parseNumber(s string) number {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return number(f)
}

// within returns n where it lies between 0 and the highest that it can mean, else 0: what is not a score says nothing.
func (n number) within(most float64) float64 {
	if n < 0 || float64(n) > most {
		return 0
	}
	return float64(n)
}

var cvePattern = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(cve-[0-9]{4}-[0-9]{4,19})(?:$|[^0-9])`)

// cveIn returns the CVE that an id names: itself, or within UBUNTU-CVE-2024-1234 and the like; "" when it names none.
func cveIn(id string) string {
	if m := cvePattern.FindStringSubmatch(id); m != nil {
		return strings.ToUpper(m[1])
	}
	return ""
}

// identify picks the id of a finding from its names, the scanner's own first: the first CVE among them, else the scanner's.
// The rest are aliases.
func identify(names ...string) (id string, aliases []string) {
	for _, name := range names {
		id = cmp.Or(id, cveIn(name))
	}
	seen := map[string]bool{"": true}
	for _, name := range names {
		if cve := cveIn(name); strings.EqualFold(cve, name) {
			name = cve
		}
		id = cmp.Or(id, name)
		if name != id && !seen[name] {
			aliases = append(aliases, name)
		}
		seen[name] = true
	}
	return id, aliases
}

// link returns an address of the web that a reader may follow; "" for what is none. One that is too long is none when cut.
func link(s string) string {
	s = strings.TrimSpace(s)
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || plain.Line(s, maxPlace) != s || strings.ContainsAny(s, " <>\"") {
		return ""
	}
	return s
}

// versions puts commas between versions, each once.
func versions(all []string) string {
	var some []string
	for _, v := range all {
		if v != "" && !slices.Contains(some, v) && len(some) < 16 {
			some = append(some, v)
		}
	}
	return strings.Join(some, ", ")
}

// join puts a space between what is not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// firstLink returns the first address that is one.
func firstLink(s ...string) string {
	for _, one := range s {
		if one = link(one); one != "" {
			return one
		}
	}
	return ""
}
