// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	mostReasons = 1000 // that are told apart; what comes after them is counted
	mostNames   = 3    // assets beside a reason
)

// Reasons group what failed by what its errors say, but for what varies from asset to asset. The zero value is ready.
type Reasons struct {
	Count int
	Other int // of Count, those that belong to none of the groups, which are too many
	all   map[string]*Reason
}

// Reason is why some assets failed.
type Reason struct {
	Text   string   `json:"text"`   // of the first; with ASSET in the place of its name when there are others
	Assets []string `json:"assets"` // the first few
	Count  int      `json:"count"`
}

// varies is what differs in a reason from asset to asset, beside their names: lines, processes, how often, when.
var varies = regexp.MustCompile(`\b(line|pid|failed) \d+|\b\d\d:\d\d:\d\d\b`)

// Add counts an asset under the reason of its error.
func (s *Reasons) Add(asset, err string) {
	s.Count++
	text := err
	if strings.Contains(text, asset) {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(asset)+`\b`).ReplaceAllLiteralString(text, "ASSET")
	}
	key := varies.ReplaceAllString(text, "$1")
	one := s.all[key]
	switch {
	case one != nil:
		one.Text = text
	case len(s.all) == mostReasons:
		s.Other++
		return
	default:
		if s.all == nil {
			s.all = map[string]*Reason{}
		}
		one = &Reason{Text: err}
		s.all[key] = one
	}
	if one.Count++; len(one.Assets) < mostNames {
		one.Assets = append(one.Assets, asset)
	}
}

// Sorted are the reasons, the most frequent first.
func (s Reasons) Sorted() []Reason {
	list := []Reason{}
	for r := range maps.Values(s.all) {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Text, b.Text))
	})
	return list
}

// groups is how many reasons are told apart.
func (s Reasons) groups() int { return len(s.all) }

// Names are the assets of a reason, with how many more there are.
func (r Reason) Names() string { return someOf(r.Assets, r.Count) }
