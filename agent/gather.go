// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

const (
	gatherTimeout = 50 * time.Minute // less than a claim lives that asks for nothing
	gatherRetries = 2
	reportFacts   = 128 << 10 // bytes of what is recorded of a report, beside where it is found again
	mostPast      = 30        // reports before that are looked into: about as long as tickets are kept
)

// ReportFacts are what the step gather records. The message is made from them alone, and picket report finds the rest by them.
type ReportFacts struct {
	Report report.Facts    `json:"report"`
	Lists  map[string]int  `json:"lists"`  // how many assets each has, by its digest
	Past   []EarlierReport `json:"past"`   // what it was compared with, the newest first
	Before map[string]int  `json:"before"` // the lists of the newest of them
	Tell   bool            `json:"tell"`   // people are told
}

// report takes the ticket of a report to where nothing is left to be done.
func (j *job) report() error {
	for {
		var err error
		switch j.ticket.State {
		case client.StateInit:
			err = j.perform(client.StepGather, StepConfig{Timeout: strict.Duration(gatherTimeout), Retries: gatherRetries, Backoff: strict.Duration(time.Second)}, j.gather)
		case client.StateGathered:
			err = j.tellReport()
		case client.StateNotifying, client.StateNotified:
			err = j.finish()
		default:
			return nil
		}
		if err != nil || j.released {
			return err
		}
	}
}

// gather reads the tickets of all assets of the report's lists, and compares them with those of the reports before. It can be begun anew at any
// time: nothing is recorded before it is done.
func (j *job) gather(ctx context.Context) (verdict.Record, error) {
	r, at := j.a.report, j.now()
	call := func(ctx context.Context, call func(context.Context) error) error {
		j.lease.Expect(time.Minute)
		return j.a.follow(ctx, call)
	}
	var noted client.ReportResponse
	err := call(ctx, func(ctx context.Context) (err error) {
		noted, err = r.tell(ctx)
		return err
	})
	if err != nil {
		return verdict.Record{}, err
	}
	earlier, err := EarlierReports(ctx, j.a.client, call, j.a.config.Report.Name, j.a.options.Task, at)
	if err != nil {
		return verdict.Record{}, fmt.Errorf("cannot read the reports before: %w", err)
	}
	f := ReportFacts{Lists: noted.Lists, Past: []EarlierReport{}, Before: map[string]int{}}
	header := report.Header{List: j.a.config.Report.Name, Task: j.a.options.Task, At: at}
	for i, one := range earlier {
		if i == 0 {
			header.Previous, f.Before = one.Report.Task, one.Lists
		}
		f.Past = append(f.Past, EarlierReport{one.Report.Task, one.Report.At})
	}
	feed := &Feed{Client: j.a.client, Call: call, List: header.List, Task: header.Task, Lists: f.Lists, Before: f.Before, Own: r.list, Past: f.Past}
	maker, accepted := report.New(header), acceptance{}
	if err := feed.Each(ctx, accepted.noting(maker.Add)); err != nil {
		return verdict.Record{}, fmt.Errorf("cannot read the tickets of the list: %w", err)
	}
	done := maker.Report()
	done.Notes = append(done.Notes, r.notes(feed, done.Incomplete)...)
	done.Notes = append(done.Notes, accepted.notes(j.a.files.accepted.current())...)
	if f.Report, err = done.Facts(reportFacts); err != nil {
		return verdict.Record{}, err
	}
	f.Tell = j.a.config.Report.When == WhenAlways || f.Report.News() || feed.Lost+feed.Damaged+len(r.list.Bad) > 0 || r.cut != ""
	facts, err := plain.JSON(f)
	return verdict.Record{State: client.StateGathered, Facts: facts, Summary: f.Report.Title()}, err
}

// notes are what a report says at its head about its lists, and of how many assets the scan could not try all.
func (r *reporter) notes(feed *Feed, incomplete int) (notes []string) {
	if bad := len(r.list.Bad) + r.list.MoreBad; bad > 0 {
		first := r.list.Bad[0]
		notes = append(notes, fmt.Sprintf("%s: line %d, %q %s.",
			plain.Count(bad, "line of a list can be no asset, and was not scanned", "lines of a list can be no assets, and were not scanned"), first.Line, first.Text, first.Reason))
	}
	if r.cut != "" {
		notes = append(notes, r.cut)
	}
	if len(feed.Lists) > 1 {
		var sizes []string
		for _, n := range feed.Lists {
			sizes = append(sizes, fmt.Sprint(n))
		}
		slices.SortFunc(sizes, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(b, a)) })
		notes = append(notes, fmt.Sprintf("Runs had %d different lists under this name and task, with %s assets; each asset of any of them counts.", len(feed.Lists), verdict.BriefList(sizes, 5)))
	}
	if feed.Lost > 0 {
		notes = append(notes, fmt.Sprintf("Redis lost the names of %s of another run's list: nothing is said about them.", plain.Count(feed.Lost, "asset", "assets")))
	}
	if feed.Damaged > 0 {
		notes = append(notes, fmt.Sprintf("Redis lost a part of the tickets of %s: they count as not scanned until the tickets are reopened.", plain.Count(feed.Damaged, "asset", "assets")))
	}
	if incomplete > 0 {
		notes = append(notes, fmt.Sprintf("The scanner could not try all on %s: what it did not find there is not called fixed.", plain.Count(incomplete, "asset", "assets")))
	}
	if n := len(feed.Untold); n > 0 {
		notes = append(notes, fmt.Sprintf("%s at high risk in an earlier task whose report nobody got, and could not be scanned since: %s.",
			plain.Count(n, "asset was", "assets were"), verdict.BriefList(feed.Untold, 5)))
	}
	return notes
}

// tellReport has people told what was gathered, if that is to be told.
func (j *job) tellReport() error {
	f, err := ReadReport(j.ticket)
	if err != nil {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	if !f.Tell {
		return j.finish()
	}
	facts, err := plain.JSON(f.Report)
	if err != nil {
		return j.fail(j.lease.Context(), client.CallNotify, err)
	}
	return j.send(client.NotificationRequest{
		Title: f.Report.Title(), Text: f.Report.Text(maxText), Severity: f.Report.Severity(), Facts: facts, Channels: j.a.config.Report.Channels,
	})
}

// ReadReport reads what was gathered for a report.
func ReadReport(t client.Ticket) (f ReportFacts, err error) {
	step, ok := t.Steps[client.StepGather]
	if !ok {
		return f, errors.New("the report is not gathered yet")
	}
	if err := json.Unmarshal(step.Facts, &f); err != nil {
		return f, fmt.Errorf("cannot read what was gathered for the report: %w", err)
	}
	return f, nil
}

// EarlierReports are the reports of that name that people got, or that had nothing to tell, and that were gathered before that time, the newest
// first. One that reached nobody does not count: what it said is told again.
func EarlierReports(ctx context.Context, cl *client.Client, call func(context.Context, func(context.Context) error) error, name, task string, before time.Time) ([]ReportFacts, error) {
	var told []client.Ticket
	for cursor := client.Cursor(""); ; {
		var page client.TicketList
		err := call(ctx, func(ctx context.Context) (err error) {
			page, err = cl.Tickets(ctx, client.TicketQuery{Asset: assets.ReportPrefix + name, Limit: 100, Cursor: cursor})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tickets {
			step, gathered := t.Steps[client.StepGather]
			if t.Task != task && gathered && t.Damaged == "" && step.At.Before(before) && (verdict.WasTold(t) || t.Notification == nil && t.State == client.StateFinished) {
				told = append(told, t)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.SortFunc(told, func(a, b client.Ticket) int {
		return b.Steps[client.StepGather].At.Compare(a.Steps[client.StepGather].At)
	})
	all := []ReportFacts{}
	for _, t := range told[:min(len(told), mostPast)] {
		now, err := readTicket(ctx, cl, call, t.Asset, t.Task) // listings leave facts out
		if err != nil {
			return nil, err
		}
		if now == nil || now.Damaged != "" { // since it was listed
			continue
		}
		f, err := ReadReport(*now)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
