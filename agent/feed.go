// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// Feed reads what a report is made of, asset by asset: their tickets of this task, and of reports before.
type Feed struct {
	Client *client.Client
	Call   func(context.Context, func(context.Context) error) error // makes a call, and again while it fails for a reason that passes
	List   string                                                   // its name
	Task   string
	Lists  map[string]int  // how many assets each list has, by its digest
	Before map[string]int  // the lists of the report before
	Own    *assets.List    // one of these lists, which need not be read; nil: none
	Past   []EarlierReport // the reports before that people got, the newest first
	Until  time.Time       // when it was gathered: what was recorded later is not of it. Zero: it is being gathered

	Lost    int      // assets of Lists whose names are not kept, when all is read
	Damaged int      // assets of which Redis lost a part of the ticket: nothing can be said about them
	Untold  []string // assets whose high risk was left to a report that nobody got, and that were not scanned since
}

// EarlierReport is a report that people got before.
type EarlierReport struct {
	Task string    `json:"task"`
	At   time.Time `json:"at"` // when it was begun to be gathered, by Redis' clock
}

// feedAtOnce is how many assets are read at the same time.
const feedAtOnce = 8

// Each hands every asset over, in the order of the lists. Errors are of the calls, or what each returns, which ends it.
func (f *Feed) Each(ctx context.Context, each func(report.Asset) error) error {
	ctx, cancel := context.WithCancel(ctx)
	type read struct {
		asset report.Asset
		err   error
	}
	queue := make(chan chan read, feedAtOnce)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	f.Lost, f.Damaged, f.Untold = 0, 0, nil
	readers.Go(func() {
		defer close(queue)
		for m, err := range f.members(ctx) {
			one := make(chan read, 1)
			select {
			case queue <- one:
			case <-ctx.Done():
				return
			}
			if err != nil {
				one <- read{err: err}
				return
			}
			readers.Go(func() {
				a, err := f.asset(ctx, m)
				one <- read{a, err}
			})
		}
	})
	for one := range queue {
		got := <-one
		if t := got.asset.Now; t != nil && t.Damaged != "" {
			f.Damaged++
		}
		if got.asset.Untold != nil {
			f.Untold = append(f.Untold, got.asset.Name)
		}
		if got.err == nil {
			got.err = each(got.asset)
		}
		if got.err != nil {
			return got.err
		}
	}
	return context.Cause(ctx)
}

// asset reads the tickets of an asset.
func (f *Feed) asset(ctx context.Context, m member) (a report.Asset, err error) {
	a = report.Asset{Name: m.name, Gone: m.gone}
	if !m.gone {
		if a.Now, err = f.ticket(ctx, m.name, f.Task); err != nil {
			return a, err
		}
		a.Unsettled = a.Now != nil && (a.Now.Damaged != "" || !f.Until.IsZero() && lastStep(*a.Now).After(f.Until))
	}
	if !isScanned(a.Now) || a.Unsettled {
		if a.Untold, err = f.untold(ctx, m.name); err != nil {
			return a, err
		}
	}
	if len(f.Past) == 0 {
		return a, nil
	}
	if a.Last, err = f.ticket(ctx, m.name, f.Past[0].Task); err != nil {
		return a, err
	}
	if wasIn(a.Last, f.Past[0]) {
		if a.Base = a.Last; !verdict.IsIncomplete(*a.Base) {
			return a, nil
		}
	}
	if a.Older, err = f.older(ctx, m.name); a.Base == nil && len(a.Older) > 0 {
		a.Base, a.Older = a.Older[0], a.Older[1:]
	}
	return a, err
}

// older are what the reports before the last one told of an asset, the newest first, up to the first whose scan tried all.
func (f *Feed) older(ctx context.Context, asset string) (all []*client.Ticket, err error) {
	if len(f.Past) == 1 {
		return nil, nil
	}
	ids := make([]string, len(f.Past)-1)
	for i, past := range f.Past[1:] {
		ids[i] = asset + "/" + past.Task
	}
	var states map[string]*client.TicketState
	err = f.Call(ctx, func(ctx context.Context) (err error) {
		states, err = f.Client.States(ctx, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, past := range f.Past[1:] {
		if states[ids[i]] == nil {
			continue
		}
		t, err := f.ticket(ctx, asset, past.Task)
		if err != nil {
			return nil, err
		}
		if !wasIn(t, past) {
			continue
		}
		if all = append(all, t); !verdict.IsIncomplete(*t) {
			break
		}
	}
	return all, nil
}

// untoldMost is how many tickets of one asset at high risk are looked at.
const untoldMost = 20

// untold is the newest ticket of an asset whose high risk was left to a report of this list that nobody got; nil when there is none. It is
// asked for where this task says nothing of the asset: people would hear of the failure alone.
func (f *Feed) untold(ctx context.Context, asset string) (*client.Ticket, error) {
	q := client.TicketQuery{Asset: asset, Exact: true, HighRisk: true, Limit: untoldMost}
	if len(f.Past) > 0 {
		q.Since = f.Past[0].At
	}
	var found client.TicketList
	err := f.Call(ctx, func(ctx context.Context) (err error) {
		found, err = f.Client.Tickets(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, one := range found.Tickets {
		if one.Task == f.Task {
			continue
		}
		t, err := f.ticket(ctx, asset, one.Task)
		if err != nil {
			return nil, err
		}
		if t == nil || len(f.Past) > 0 && wasIn(t, f.Past[0]) || !f.Until.IsZero() && lastStep(*t).After(f.Until) {
			continue
		}
		var said struct {
			LeftTo string `json:"left_to"`
		}
		if json.Unmarshal(t.Steps[client.StepAssess].Facts, &said) == nil && said.LeftTo == assets.ReportPrefix+f.List+"/"+one.Task {
			return t, nil
		}
	}
	return nil, nil
}

// ticket reads a ticket; nil when there is none.
func (f *Feed) ticket(ctx context.Context, asset, task string) (*client.Ticket, error) {
	return readTicket(ctx, f.Client, f.Call, asset, task)
}

// readTicket reads a ticket; nil when there is none.
func readTicket(ctx context.Context, cl *client.Client, call func(context.Context, func(context.Context) error) error, asset, task string) (*client.Ticket, error) {
	var t client.Ticket
	err := call(ctx, func(ctx context.Context) (err error) {
		t, err = cl.Ticket(ctx, asset, task)
		return err
	})
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.TicketNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// isScanned says whether the findings of a ticket are known and decided about.
func isScanned(t *client.Ticket) bool {
	if t == nil || t.Damaged != "" {
		return false
	}
	_, scanned := t.Steps[client.StepVuln]
	_, assessed := t.Steps[client.StepAssess]
	return scanned && (assessed || isTerminal(t.State))
}

// wasIn says whether the findings of a ticket were known when a report was gathered.
func wasIn(t *client.Ticket, past EarlierReport) bool {
	return isScanned(t) && !lastStep(*t).After(past.At)
}

// lastStep is when the last of a ticket's steps was recorded, by Redis' clock; the time of its making when none is.
func lastStep(t client.Ticket) time.Time {
	last := t.CreatedAt
	for _, s := range t.Steps {
		if s.At.After(last) {
			last = s.At
		}
	}
	return last
}
