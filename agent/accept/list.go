// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/strict"
)

// List is what has been accepted, as the files say it.
type List struct {
	rules  []rule
	byName map[string][]int // the rules of a vulnerability, by its names in capitals
	files  []file
}

type file struct{ path, digest string }

// maxRules bounds what all files say together.
const maxRules = 200_000

// Open reads files of accepted risks, and OpenVEX documents. Its error is a strict.Error with a line for each thing that is wrong.
func Open(accepted, vex []string) (*List, error) {
	l := &List{byName: map[string][]int{}}
	var wrong strict.Error
	for i, path := range append(accepted[:len(accepted):len(accepted)], vex...) {
		doc, err := read(path)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("cannot read %s: %v", path, err))
			continue
		}
		readRules := readEntries
		if i >= len(accepted) {
			readRules = readVEX
		}
		rules, err := readRules(path, doc)
		if bad, ok := errors.AsType[strict.Error](err); ok {
			wrong = append(wrong, bad...)
			continue
		}
		digest := sha256.Sum256(doc)
		l.files = append(l.files, file{path, hex.EncodeToString(digest[:16])})
		for _, r := range rules {
			r.file = len(l.files) - 1
			for _, name := range r.names {
				l.byName[strings.ToUpper(name)] = append(l.byName[strings.ToUpper(name)], len(l.rules))
			}
			l.rules = append(l.rules, r)
		}
	}
	if len(l.rules) > maxRules {
		wrong = append(wrong, fmt.Sprintf("%d entries and products of statements are more than %d: give fewer files", len(l.rules), maxRules))
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return l, nil
}

func read(path string) ([]byte, error) {
	f, err := findings.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(doc) > maxFile {
		err = fmt.Errorf("it has more than %d MiB", maxFile>>20)
	}
	return doc, err
}

// met are the rules that meet a finding, in the order of the files.
func (l *List) met(s subject, f findings.Finding) (met []int) {
	seen := map[int]bool{}
	for _, name := range f.Names() {
		for _, n := range l.byName[strings.ToUpper(name)] {
			if !seen[n] && l.rules[n].meets(s, f) {
				met = append(met, n)
			}
			seen[n] = true
		}
	}
	return met
}

// covered reports whether all of a finding is accepted that an acceptance meets: under an id that stands for the whole, or each of its
// CVEs. An advisory may have several, and another than the accepted one may be the grave one.
func (l *List) covered(met []int, f findings.Finding, now time.Time) bool {
	cves := f.CVEs()
	if len(cves) < 2 {
		return true
	}
	accepted := func(name string) bool {
		_, accepts := l.choose(slices.DeleteFunc(slices.Clone(met), func(n int) bool {
			return !slices.ContainsFunc(l.rules[n].names, func(of string) bool { return strings.EqualFold(of, name) })
		}), now)
		return accepts
	}
	for _, name := range f.Names() {
		if !slices.Contains(cves, strings.ToUpper(name)) && accepted(name) {
			return true
		}
	}
	return !slices.ContainsFunc(cves, func(cve string) bool { return !accepted(cve) })
}

// choose returns which of the rules that meet a finding decides about it, -1 for none, and whether it accepts it or is over.
func (l *List) choose(met []int, now time.Time) (chosen int, accepts bool) {
	entry, statement, ended := -1, -1, -1
	for _, n := range met {
		switch r := l.rules[n]; {
		case r.vex:
			if statement < 0 || cmp.Or(r.made.Compare(l.rules[statement].made), cmp.Compare(n, statement)) > 0 {
				statement = n
			}
		case now.Before(r.over):
			if entry < 0 || n < entry {
				entry = n
			}
		case ended < 0 || r.over.After(l.rules[ended].over):
			ended = n
		}
	}
	switch {
	case entry >= 0:
		return entry, true
	case statement >= 0 && l.rules[statement].accepts:
		return statement, true
	}
	return ended, false
}
