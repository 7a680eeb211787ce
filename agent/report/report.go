// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// Header is what is known of a report before its first asset.
type Header struct {
	List     string    `json:"list"`
	Task     string    `json:"task"`
	Previous string    `json:"-"` // the task of the report before; "": this is the first
	At       time.Time `json:"at"`
	Notes    []string  `json:"notes"` // what the report says at its head, a sentence each
	Earlier  []Past    `json:"-"`     // the reports before, oldest first
}

// NewlyUnreachedTitle stands above NewlyUnreached.
func (h *Header) NewlyUnreachedTitle() string { return newlyUnreached(h.Previous == "") }

// Past is what is kept of an earlier report.
type Past struct {
	Task   string
	At     time.Time
	First  bool // all findings were new
	Counts Counts
}

func (h *Header) previous() *string {
	if h.Previous == "" {
		return nil
	}
	return &h.Previous
}

// Counts are the figures of a report. See the package comment for what each of them is.
type Counts struct {
	Assets     int `json:"assets"` // of the list, without those that are in it no more
	Online     int `json:"online"`
	Offline    int `json:"offline"`
	HighRisk   int `json:"high_risk"`
	Failed     int `json:"failed"`
	Unreached  int `json:"unreached"`
	NotScanned int `json:"not_scanned"` // with those that are in the list no more
	Findings   int `json:"findings"`    // all that are known now, with those that are accepted, or that a list had no room for
	New        int `json:"new"`
	Fixed      int `json:"fixed"`
	Accepted   int `json:"accepted"`
	Unknown    int `json:"unknown"` // of which nobody can say whether they are new, or fixed
}

// Asset is a member of the list. Its tickets are whole, with facts, and nil where there is none.
type Asset struct {
	Name      string
	Now       *client.Ticket   // under the report's task
	Last      *client.Ticket   // under that of the report before
	Base      *client.Ticket   // what it is compared with: Last if that was scanned to its end, else the newest older one that was
	Older     []*client.Ticket // where the scan of Base could not try all: those before it, the newest first, up to one that could
	Untold    *client.Ticket   // one at high risk that is newer than Base, of which nobody was told; only where Now was not scanned
	Unsettled bool             // it was not settled when the report was made
	Gone      bool             // it was in the list of the report before, and is in none now; Now is not looked at
}

// Failure is an asset on which a step failed.
type Failure struct {
	Asset string `json:"asset"`
	Step  string `json:"step"`
	Error string `json:"error"`
}

// NotScanned is an asset about which nothing was established, and why.
type NotScanned struct {
	Asset string `json:"asset"`
	Why   string `json:"why"`
}

// Standing is an asset with findings that are open, or at high risk.
type Standing struct {
	Asset    string
	HighRisk bool
	Open     int       // findings that are not accepted, with those that its list had no room for
	New      int       // of these
	Worst    []Finding // the gravest of them
}

// Report is what has changed: counts, and the most severe of each section.
type Report struct {
	Header
	Counts Counts

	New, Fixed, Changed, Accepted Section[Finding]
	NewlyHigh, NoLongerHigh       Section[string]
	Failed                        Section[Failure]
	NewlyUnreached                Section[string] // was not offline in the report before
	StillUnreached                Section[string]
	NotScanned                    Section[NotScanned]
	Assets                        Section[Standing]
	Groups                        []Group        // of what is open
	LeftGroups                    int            // findings that are in no group, because there are too many
	Reasons                       Reasons        // why assets failed
	BySeverity, NewBySeverity     map[string]int // of what is open and listed, and of what is new
	Graver                        int            // of Changed, those that are more severe, exploited, or not accepted any more
	Scanned                       int            // assets whose findings are known
	Incomplete                    int            // of these, those whose scan could not try all

	rows   []func(Row) error
	groups groups
}

// How much of a section is kept.
const (
	mostHead   = 1000
	mostAssets = 500
	mostWorst  = 10 // findings beside an asset
)

// Maker makes a report. It is used by one goroutine.
type Maker struct{ r Report }

// New begins a report. Each of rows gets every row as it comes.
func New(h Header, rows ...func(Row) error) *Maker {
	m := &Maker{Report{Header: h, BySeverity: map[string]int{}, NewBySeverity: map[string]int{}, rows: rows}}
	r := &m.r
	if r.Notes == nil {
		r.Notes = []string{}
	}
	for _, s := range []*Section[Finding]{&r.New, &r.Fixed, &r.Changed, &r.Accepted} {
		s.most, s.order = mostHead, bySeverity
	}
	for _, s := range []*Section[string]{&r.NewlyHigh, &r.NoLongerHigh, &r.NewlyUnreached, &r.StillUnreached} {
		s.most, s.order = mostHead, strings.Compare
	}
	r.Failed.most, r.Failed.order = mostHead, func(a, b Failure) int { return strings.Compare(a.Asset, b.Asset) }
	r.NotScanned.most, r.NotScanned.order = mostHead, func(a, b NotScanned) int { return strings.Compare(a.Asset, b.Asset) }
	r.Assets.most, r.Assets.order = mostAssets, func(a, b Standing) int {
		return cmp.Or(-compareBool(a.HighRisk, b.HighRisk), gravest(a.Worst, b.Worst), cmp.Compare(b.Open, a.Open), strings.Compare(a.Asset, b.Asset))
	}
	return m
}

// gravest compares the first of two lists; one without any is behind.
func gravest(a, b []Finding) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return graver(a[0], b[0])
}

// Report is the report of all assets that were added.
func (m *Maker) Report() *Report {
	r := &m.r
	for _, s := range []*Section[Finding]{&r.New, &r.Fixed, &r.Changed, &r.Accepted} {
		s.cut()
	}
	for _, s := range []*Section[string]{&r.NewlyHigh, &r.NoLongerHigh, &r.NewlyUnreached, &r.StillUnreached} {
		s.cut()
	}
	r.Failed.cut()
	r.NotScanned.cut()
	r.Assets.cut()
	r.Groups, r.LeftGroups, r.groups = r.groups.sorted(), r.groups.left, groups{}
	return r
}
