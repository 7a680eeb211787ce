// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/proof/check"
	"github.com/picketd/picket/proof/history"
)

// The files of a history's folder.
const (
	historyFile = "history.jsonl"
	resultFile  = "result.json"
	shortFile   = "shortest.jsonl" // the fewest records that show the first violation
	pageFile    = "violation.html"
)

// result is what became of one history.
type result struct {
	Setup history.Setup `json:"setup"`
	check.Report
	Error  string `json:"error,omitempty"` // the harness failed, or all did not come to rest: the history proves nothing
	TookMS int64  `json:"took_ms"`         // with start, settling and check
}

func (r *result) write(dir string) error {
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, resultFile), append(doc, '\n'), 0o600)
}

func readResult(dir string) (*result, error) {
	doc, err := os.ReadFile(filepath.Join(dir, resultFile))
	if err != nil {
		return nil, err
	}
	r := &result{}
	return r, json.Unmarshal(doc, r)
}

// title is the history's name.
func title(s *history.Setup) string {
	name := fmt.Sprintf("%s %s, seed %d", s.Topology, s.Profile, s.Seed)
	if s.Mutation != "" {
		name += ", without " + s.Mutation
	}
	return name
}

// line says it in one line.
func (r *result) line() string {
	verdict := "nothing found"
	switch {
	case len(r.Violations) > 0:
		verdict = fmt.Sprintf("%d VIOLATIONS, the first of %s", len(r.Violations), r.Violations[0].Guarantee)
	case r.Error != "":
		verdict = "no whole history: " + r.Error
	}
	return fmt.Sprintf("%s: %s; %d calls, %d notifications sent, %d faults, %s", title(&r.Setup), verdict, r.Counts["calls"],
		r.Counts["sendings"], count(r.Counts, "faults"), (time.Duration(r.TookMS) * time.Millisecond).Round(time.Second))
}

// broken are the guarantees that are broken.
func (r *result) broken() (all []string) {
	for _, v := range r.Violations {
		all = append(all, v.Guarantee)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// print says all of it.
func (r *result) print(w io.Writer) {
	fmt.Fprintln(w, r.line())
	for _, v := range r.Violations {
		fmt.Fprintf(w, "%s %s: %s\n", v.Guarantee, v.Ticket, v.Text)
	}
	fmt.Fprintf(w, "counted: %s\n", counted(r.Counts))
	if len(r.Excused) > 0 {
		fmt.Fprintf(w, "let pass by a window that is documented: %s\n", counted(r.Excused))
	}
}

// counted are counts in words, in the order of their names.
func counted(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}

// count is what was counted under a name; faults are the sum of all kinds.
func count(counts map[string]int, name string) int {
	if name != "faults" {
		return counts[name]
	}
	n := 0
	for kind := range counts {
		if strings.HasPrefix(kind, "fault ") {
			n += counts[kind]
		}
	}
	return n
}
