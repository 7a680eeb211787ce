// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

const (
	noteEvery   = 10 * time.Second // while there is work to be done; the daemon has a run at work for 45 s
	lookFirst   = time.Second      // from one look whether the report can be made to the next, once it is done; doubles, up to
	lookMost    = 5 * time.Second
	leaveWithin = 2 * time.Second // for saying that a run is at work no more, when it ends
)

// reporter has the list of a run in a report. It notes that the run is at work, and makes the report, unless another run does, as soon as all
// assets of all its lists are settled; see due. A run ends when the report is accepted by a daemon's outbox, whoever made it: until then
// it takes over from who dies.
type reporter struct {
	a     *Agent
	list  *assets.List
	note  client.ReportRequest
	asset string // list:NAME
	began time.Time
	noted atomic.Bool // the list is known, and kept whole

	worked chan struct{} // closes when the run has done all that it can
	last   time.Time     // when something was last settled or recorded then
	moved  time.Time     // when something has moved since, here or elsewhere
	open   string        // an asset that was not settled when it was last looked at
	works  int           // other runs that were at work then
	cut    string        // why it is made though not all is settled
}

// newReporter is of a run over a list; nil when there is to be no report. An asset by itself, which stands in no list, has none.
func (a *Agent) newReporter(list *assets.List) *reporter {
	if a.config.Report.Name == "" || list.Len() == 0 || list.At(0).Line == 0 {
		return nil
	}
	return &reporter{
		a: a, list: list, asset: assets.ReportPrefix + a.config.Report.Name, began: time.Now(), worked: make(chan struct{}),
		note: client.ReportRequest{List: list.Digest(), Total: list.Len(), Run: cryptorand.Text(), Works: true},
	}
}

// takes is the ticket of the report, if what is recorded now will be in it. While it is gathered it may have passed the asset already.
func (r *reporter) takes(ctx context.Context) (ticket string, err error) {
	if !r.noted.Load() {
		return "", nil
	}
	t, err := r.a.client.Ticket(ctx, r.asset, r.a.options.Task)
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.TicketNotFound {
		t.State, err = client.StateInit, nil
	}
	if err != nil || t.State != client.StateInit || t.Holder != nil {
		return "", err
	}
	return r.asset + "/" + r.a.options.Task, nil
}

// tell notes the run and its list, with the assets' names where they are not kept.
func (r *reporter) tell(ctx context.Context) (client.ReportResponse, error) {
	var got client.ReportResponse
	err := r.a.call(ctx, func(ctx context.Context) (err error) {
		got, err = r.a.client.NoteReport(ctx, r.a.options.Task, r.a.config.Report.Name, r.note)
		return err
	})
	parts := (r.list.Len() + client.PartSize - 1) / client.PartSize
	for part := 0; err == nil && got.Parts < parts && part < parts; part++ {
		var names []string
		for i := part * client.PartSize; i < min((part+1)*client.PartSize, r.list.Len()); i++ {
			names = append(names, r.list.At(i).Name)
		}
		err = r.a.call(ctx, func(ctx context.Context) error { return r.a.client.PutPart(ctx, r.note.List, part, names) })
	}
	if err == nil {
		r.noted.Store(true)
	}
	return got, err
}

// serve notes the run again and again, and makes the report when it is due. It returns what became of the report: Done when a daemon has
// accepted it, Failed, Held when others are at work and this run is not patient any more, Stopped.
func (r *reporter) serve(ctx context.Context, stopping <-chan struct{}) Result {
	result := Result{Asset: r.asset, Task: r.a.options.Task}
	e := &entry{asset: assets.Asset{Name: r.asset}, flow: client.FlowListReport, name: cryptorand.Text()}
	for looks := 0; ; looks++ {
		if r.note.Works && isClosed(r.worked) {
			r.note.Works, r.moved, looks = false, r.last, 0
		}
		waits, err := r.advance(ctx, stopping, e, &result)
		switch {
		case result.Outcome != "":
			return result
		case err != nil && !lease.Transient(err) && ctx.Err() == nil:
			result.Outcome, result.Error = Failed, plain.Line("the report is not made: "+err.Error(), 0)
			return result
		case !r.note.Works && time.Since(r.moved) >= r.a.options.GiveUp:
			result.Outcome, result.Error = Held, "the report is not made yet: "+waits
			return result
		}
		pause, worked := again.Backoff(min(looks, 8)+1, lookFirst, lookMost), (<-chan struct{})(nil)
		if r.note.Works {
			pause, worked = noteEvery+rand.N(noteEvery/2), r.worked
		}
		select {
		case <-time.After(pause):
			continue
		case <-worked:
			continue
		case <-stopping:
		case <-ctx.Done():
		}
		<-r.worked
		r.note.Works = false
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer cancel()
		_, _ = r.tell(leaving) // else the others wait until it is not heard of any more
		result.Outcome, result.Error = Stopped, "the report is left to the other runs, or to the next one with this list"
		return result
	}
}

// advance notes the run once, and makes the report if it is due; the result is then what came of it, unless it is to be tried again. waits says
// what is waited for.
func (r *reporter) advance(ctx context.Context, stopping <-chan struct{}, e *entry, result *Result) (waits string, err error) {
	noted, err := r.tell(ctx)
	if err != nil {
		return err.Error(), err
	}
	if !r.note.Works {
		if err := r.made(ctx, result); err != nil || result.Outcome != "" {
			return "", err
		}
	}
	due, err := r.due(ctx, noted)
	switch {
	case err != nil:
		return err.Error(), err
	case !due && noted.Works > 0:
		return plain.Count(noted.Works, "other run is", "other runs are") + " at work on its lists", nil
	case !due:
		return r.open + " is not settled", nil
	}
	done := r.a.attempt(ctx, stopping, e)
	if !done.again {
		*result = done.result
	}
	return done.result.Error, nil
}

// made fills the result in if the report is accepted already, whoever made it.
func (r *reporter) made(ctx context.Context, result *Result) error {
	var t client.Ticket
	err := r.a.call(ctx, func(ctx context.Context) (err error) {
		t, err = r.a.client.Ticket(ctx, r.asset, r.a.options.Task)
		return err
	})
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.TicketNotFound {
		return nil
	}
	if err == nil && isAccepted(t.State) {
		result.describe(t)
		result.Skipped = true
		result.conclude(nil)
	}
	return err
}

// isAccepted says whether nothing is left to be done of a ticket but the delivery, as far as agents are concerned.
func isAccepted(state string) bool {
	return isTerminal(state) || state == client.StateNotifying || state == client.StateNotified
}

// due says whether the report is to be made: all assets of all its lists are settled; or no other run is at work, and those that are not
// have a failure recorded, or this run has lost patience; or report.after is over.
func (r *reporter) due(ctx context.Context, noted client.ReportResponse) (bool, error) {
	after := time.Duration(r.a.config.Report.After)
	late := after > 0 && max(time.Duration(noted.AgeMS)*time.Millisecond, time.Since(r.began)) >= after
	r.cut = ""
	if !late && r.note.Works {
		return false, nil
	}
	open, failed, err := r.look(ctx, noted.Lists)
	if err != nil {
		return false, err
	}
	if open != r.open || noted.Works != r.works {
		r.open, r.works, r.moved = open, noted.Works, time.Now()
	}
	switch {
	case open == "" && (!failed || noted.Works == 0):
	case late:
		r.cut = fmt.Sprintf("It was made %s after the first run began, when not all was settled.", r.a.config.Report.After)
	case noted.Works == 0 && (r.a.options.GiveUp <= time.Since(r.moved)):
		r.cut = "It was made when nobody was at work any more, and not all was settled."
	default:
		return false, nil
	}
	return true, nil
}

// look looks for an asset of the report's lists that is not settled and has no failure, at the one before first. failed says whether one that
// is not settled has a failure; it means nothing as long as there is one without.
func (r *reporter) look(ctx context.Context, lists map[string]int) (open string, failed bool, err error) {
	if r.open != "" {
		if open, _, err = r.unsettled(ctx, []string{r.open}); open != "" || err != nil {
			return open, false, err
		}
	}
	feed := Feed{Client: r.a.client, Call: r.a.call, Lists: lists, Own: r.list}
	var some []string
	flush := func() {
		var one bool
		open, one, err = r.unsettled(ctx, some)
		failed, some = failed || one, some[:0]
	}
	for m, unread := range feed.members(ctx) {
		if unread != nil {
			return "", false, unread
		}
		if some = append(some, m.name); len(some) == client.PartSize {
			if flush(); open != "" || err != nil {
				return open, failed, err
			}
		}
	}
	if len(some) > 0 {
		flush()
	}
	return open, failed, err
}

func (r *reporter) unsettled(ctx context.Context, names []string) (open string, failed bool, err error) {
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = name + "/" + r.a.options.Task
	}
	var states map[string]*client.TicketState
	err = r.a.call(ctx, func(ctx context.Context) (err error) {
		states, err = r.a.client.States(ctx, ids)
		return err
	})
	for i, id := range ids {
		switch t := states[id]; {
		case err != nil:
			return "", false, err
		case t != nil && !t.Damaged && isAccepted(t.State):
		case t != nil && (t.Failed || t.Damaged): // nobody can go on from what is damaged
			failed = true
		default:
			return names[i], failed, nil
		}
	}
	return "", failed, err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
