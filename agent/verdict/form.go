// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// maxNested is how deep a document may be nested; the API takes less.
const maxNested = 100

// form says how an object that a program writes for Picket is to be read: the names that it may have at each path, such as
// ".findings[]". Elsewhere any name will do, once.
type form map[string]names

type names struct {
	known  []string
	closed bool // others are refused; else only those that are known in another case
}

var (
	findingNames = names{[]string{"id", "severity", "cvss", "title", "package", "location", "aliases", "epss", "kev", "fixed_in", "url", "vector"}, false}
	factsNames   = names{[]string{"findings", "kev", "epss", "max_cvss", "kev_ids", "unchecked", "incomplete"}, false}

	findingsForm = form{"": {[]string{"findings"}, true}, ".findings[]": findingNames}
	resultForm   = form{"": {[]string{"state", "facts", "summary"}, true}, ".facts": factsNames, ".facts.findings[]": findingNames}
	factsForm    = form{"": factsNames, ".findings[]": findingNames}
)

var errBehind = errors.New("something stands behind its end")

// check reads a document and refuses what encoding/json would pass over: a name that stands twice in an object, one that is
// written in another case, one that is not known, and anything behind the end.
func (f form) check(doc []byte) error { return f.checkFrom(bytes.NewReader(doc)) }

// checkFrom is check of a document that is too large for memory.
func (f form) checkFrom(r io.Reader) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	if err := f.value(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errBehind
	}
	return nil
}

func (f form) value(d *json.Decoder, path string, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	if depth == maxNested {
		return fmt.Errorf("it is nested more than %d deep", maxNested)
	}
	seen := map[string]bool{}
	for d.More() {
		inner := path + "[]"
		if delim == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name := token.(string)
			if err := f.name(path, name, seen[name]); err != nil {
				return err
			}
			seen[name], inner = true, path+"."+name
		}
		if err := f.value(d, inner, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (f form) name(path, name string, again bool) error {
	shown := fmt.Sprintf("%q", plain.Line(name, 64))
	if path != "" {
		shown += " in " + strings.TrimPrefix(path, ".")
	}
	rule, ruled := f[path]
	known := slices.IndexFunc(rule.known, func(k string) bool { return strings.EqualFold(k, name) })
	switch {
	case again:
		return fmt.Errorf("%s stands there twice", shown)
	case known >= 0 && rule.known[known] != name:
		return fmt.Errorf("%s must be written %q", shown, rule.known[known])
	case ruled && rule.closed && known < 0:
		return fmt.Errorf("%s is not known: it has %s", shown, strings.Join(rule.known, ", "))
	}
	return nil
}

// members are an object's, by their exact names.
type members map[string]json.RawMessage

// member reads one into v, which stays as it is when there is none or null; want says what it must be.
func (m members) member(name string, v any, want string) error {
	raw, ok := m[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%q must be %s", name, want)
	}
	return nil
}

// PlainFindings is the format that no scanner has, but programs that are written for this.
const PlainFindings = "findings"
