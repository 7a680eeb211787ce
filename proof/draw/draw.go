// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package draw draws a history of the proof as a time line: one HTML file that needs nothing else, with what breaks a guarantee in
// words above it and marked in it.
package draw

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"github.com/picketd/picket/proof/check"
	"github.com/picketd/picket/proof/history"
)

// most is how many records are drawn, of a history that has more: beside those that are marked and the faults, the last before the last
// mark.
const most = 1500

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Parse(page))

// violation is one in words.
type violation struct {
	check.Violation
	Shown []item
}

// item is a record that shows a violation, with its number in the picture.
type item struct {
	Mark           int
	At, By, Detail string
}

// HTML writes the page of a history, and of what was found in it.
func HTML(w io.Writer, records []history.Record, violations []check.Violation) error {
	marks, shown := map[int]int{}, choose(records, violations)
	data := struct {
		Setup      string
		Violations []violation
		Scene      *scene
		Records    int
		Shown      int
	}{Records: len(records), Shown: len(shown)}
	zero := int64(0)
	for _, n := range shown {
		switch r := records[n]; {
		case r.Setup != nil:
			data.Setup = describe(r)
		case zero == 0:
			zero = r.At
			if r.Sending != nil {
				zero = min(zero, r.Sending.Begin)
			}
		}
	}
	for _, v := range violations {
		one := violation{Violation: v}
		for _, n := range v.Records {
			if marks[n] == 0 {
				marks[n] = len(marks) + 1
			}
			one.Shown = append(one.Shown, item{marks[n], since(zero, records[n].At), records[n].By, describe(records[n])})
		}
		data.Violations = append(data.Violations, one)
	}
	data.Scene = paint(records, shown, marks)
	return pageTemplate.Execute(w, data)
}

// choose is what of a history is drawn.
func choose(records []history.Record, violations []check.Violation) (shown []int) {
	marked, until := map[int]bool{}, len(records)
	for _, v := range violations {
		for _, n := range v.Records {
			marked[n] = true
		}
	}
	if len(violations) > 0 && len(violations[0].Records) > 0 {
		until = slices.Max(violations[0].Records) + 1
	}
	from := max(0, until-most)
	for n, r := range records {
		if marked[n] || r.Setup != nil || r.Fault != nil && n < until || n >= from && n < from+most {
			shown = append(shown, n)
		}
	}
	return shown
}
