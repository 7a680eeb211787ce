// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
)

//go:embed report.html
var pageText string

// Policy is the content policy of the page: its own style, and nothing else. Who serves the page sends it, too.
func Policy() string {
	_, style, _ := strings.Cut(pageText, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
}

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"policy": Policy,
	"score":  score,
	"count":  plain.Count,
	"join":   func(all []string) string { return strings.Join(all, ", ") },
	"n":      func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
}).Parse(pageText))

// How much of each section a page shows at once, and folded below that.
const (
	mostShown  = 25
	mostFolded = 200
)

// sheet is what the page is made of.
type sheet struct {
	*Report
	At, Day     string
	Nothing     bool // nothing could be scanned
	Plots       []plot
	Severities  []severityCount // of what is open
	NewCritical int
	ReasonList  []Reason
	OtherReason int
	Tables      []Table
	Machines    []assetCard
	LeftAssets  int
	Names       []nameList
	Open        int
	NotScanned  []NotScanned
	LeftUnseen  int
}

// severityCount is a part of the bar of what is open.
type severityCount struct {
	Severity string
	Count    int
	X, Width float64 // of 100
}

// nameList is a list of assets.
type nameList struct {
	ID, Title string
	Names     []string
	Count     int
	Left      int
}

// assetCard is an asset with what is gravest on it.
type assetCard struct {
	Standing
	Rows []TableRow
	Left int
}

// HTML writes the report as one file that needs nothing from the network.
func (r *Report) HTML(w io.Writer) error {
	b := bufio.NewWriter(w)
	err := page.Execute(b, r.sheet())
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

func (r *Report) sheet() sheet {
	s := sheet{
		Report: r, At: r.At.UTC().Format(verdict.TimeForm), Nothing: r.facts(0).nothingScanned(), Plots: r.plots(),
		NewCritical: r.NewBySeverity["critical"], Open: r.Counts.Findings - r.Counts.Accepted,
	}
	listed, x := 0, 0.0
	for _, n := range r.BySeverity {
		listed += n
	}
	for _, severity := range []string{"critical", "high", "medium", "unknown", "low", "info"} {
		if n := r.BySeverity[severity]; n > 0 {
			width := 100 * float64(n) / float64(listed)
			s.Severities = append(s.Severities, severityCount{severity, n, x, width})
			x += width
		}
	}
	all := r.Reasons.Sorted()
	s.ReasonList = all[:min(mostShown, len(all))]
	for _, reason := range all[len(s.ReasonList):] {
		s.OtherReason += reason.Count
	}
	s.OtherReason += r.Reasons.Other

	s.Tables = r.Tables(mostFolded)
	shown := r.Assets.First(mostShown * 4)
	for _, one := range shown {
		card := assetCard{Standing: one, Left: one.Open - len(one.Worst)}
		for _, f := range one.Worst {
			card.Rows = append(card.Rows, TableRow{Finding: f, Packages: f.Package, Fixes: f.FixedIn, Assets: 1})
		}
		s.Machines = append(s.Machines, card)
	}
	s.LeftAssets = r.Assets.Count - len(shown)
	s.Names = []nameList{
		assetList("high", "Newly at high risk", r.NewlyHigh),
		assetList("nothigh", "No longer at high risk", r.NoLongerHigh),
		assetList("newly_unreached", r.NewlyUnreachedTitle(), r.NewlyUnreached),
		assetList("unreached", "Not reachable, as before", r.StillUnreached),
	}
	s.NotScanned = r.NotScanned.First(mostFolded)
	s.LeftUnseen = r.NotScanned.Count - len(s.NotScanned)
	return s
}

func assetList(id, title string, s Section[string]) nameList {
	names := s.First(mostFolded)
	return nameList{id, title, names, s.Count, s.Count - len(names)}
}

// Shown are the rows that a page shows at once.
func (t Table) Shown() []TableRow { return t.Rows[:min(mostShown, len(t.Rows))] }

// Folded are the rows that a page folds.
func (t Table) Folded() []TableRow { return t.Rows[len(t.Shown()):] }
