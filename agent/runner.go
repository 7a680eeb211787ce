// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/assets"
)

const (
	maxLosses  = 5                // of claims on one asset, until it is a failure
	retryFirst = time.Second      // before something is tried again that another has or that was put off
	retryMost  = 15 * time.Second // so that what another gives back is found soon
	ailingMost = 5 * time.Minute  // for how long a run waits for this host to get well; its assets are free meanwhile
)

// listRun is one run over a list. One goroutine owns it.
type listRun struct {
	a        *Agent
	list     *assets.List
	counts   Counts
	todo     []int    // chunks that are not looked at yet, in an order of chance
	settled  []*chunk // to be looked at for others
	looking  bool     // at a chunk
	memory   memory
	fresh    []*entry // not tried yet
	later    []*entry // tried, and to be tried again; the one due first comes first
	running  int
	held     int       // of later
	progress time.Time // when something was last settled or recorded
	away     bool      // the last call could not be made
	calm     time.Time // nothing new is begun until then
	ailing   illness   // what is wrong with this host
	refused  error     // why no asset can be claimed
	results  chan attempted
	looks    chan look
	wholes   chan Whole
}

// illness is something wrong with this host. While it lasts, one asset at a time is tried, after a pause, to see whether it has passed.
type illness struct {
	err   error // nil while the host is well
	since time.Time
	next  time.Time // when to try again
	tries int
}

// runList is Run without a report.
func (a *Agent) runList(ctx context.Context, stopping <-chan struct{}, list *assets.List) (*listRun, error) {
	r := &listRun{a: a, list: list, results: make(chan attempted), looks: make(chan look), wholes: make(chan Whole), memory: newMemory(list), progress: time.Now()}
	bad := len(list.Bad) + list.MoreBad
	r.counts = Counts{Total: list.Len() + bad, Failed: bad, Began: time.Now()}
	for _, b := range list.Bad {
		a.options.Report(badResult(b, a.options.Task))
	}
	if list.MoreBad > 0 {
		a.options.Log.Error("more lines of the list are no assets than are told one by one", "lines", list.MoreBad)
	}
	r.todo = rand.Perm((list.Len() + chunkSize - 1) / chunkSize)
	following, unfollow := context.WithCancel(ctx)
	var followed sync.WaitGroup
	if list.Len() > 1 {
		followed.Go(func() { a.watchList(following, list, r.wholes) })
	}
	defer func() {
		unfollow()
		followed.Wait()
	}()
	stop := stopping
	for stopped := false; ; {
		overdue := r.overdue()
		begins := !stopped && !(overdue && (r.away || r.ailing.err != nil || r.running == 0))
		if begins {
			r.begin(ctx, stopping)
		}
		r.counts.Ending = stopped
		r.tell()
		switch {
		case r.running > 0 || r.looking:
		case r.refused != nil:
			return r, r.refused
		case stopped || overdue || len(r.later) == 0 && !r.untried() && !r.unchecked():
			r.abandon(stopped)
			return r, nil
		}
		timer := time.NewTimer(r.pause(begins))
		select {
		case done := <-r.results:
			r.takeIn(done)
			stopped = stopped || r.refused != nil
		case seen := <-r.looks:
			r.see(seen)
		case w := <-r.wholes:
			r.counts.Whole = &w
		case <-timer.C:
		case <-a.outage.changed:
		case <-stop:
			stopped, stop = true, nil
		case <-ctx.Done():
			stopped, ctx = true, context.WithoutCancel(ctx)
		}
		timer.Stop()
	}
}

// begin starts what is due, as much as may run at a time.
func (r *listRun) begin(ctx context.Context, stopping <-chan struct{}) {
	most, now := r.a.options.Parallel, time.Now()
	if r.ailing.err != nil {
		if most = 1; now.Before(r.ailing.next) {
			return
		}
	}
	r.take(ctx)
	for ; r.running < most; r.running++ {
		from := &r.fresh
		if len(r.later) > 0 && !r.later[0].due.After(now) {
			from = &r.later
		} else if now.Before(r.calm) {
			return
		}
		if len(*from) == 0 {
			return
		}
		e := (*from)[0]
		*from = (*from)[1:]
		if e.held {
			r.held, e.held = r.held-1, false
		}
		go func() { r.results <- r.a.attempt(ctx, stopping, e) }()
	}
}

// overdue reports whether nothing is left but what others have, or the daemon is away, or this host is ailing, and nothing has
// moved for as long as this run is patient.
func (r *listRun) overdue() bool {
	return (!r.untried() || r.away || r.ailing.err != nil) && r.patience() <= 0
}

// untried reports whether there is something that was not tried yet.
func (r *listRun) untried() bool {
	return len(r.fresh)+len(r.todo)+len(r.settled) > 0 || r.looking || r.unchecked() && !r.memory.asked
}

// unchecked reports whether all is settled, and it is not known yet whether all of it still holds.
func (r *listRun) unchecked() bool {
	return !r.memory.checked && !r.memory.over && r.running+len(r.fresh)+len(r.later)+len(r.todo) == 0
}

// patience is how long this run still waits for something to move.
func (r *listRun) patience() time.Duration {
	if r.ailing.err != nil {
		return min(r.a.options.GiveUp, ailingMost) - time.Since(r.ailing.since)
	}
	return r.a.options.GiveUp - time.Since(r.progress)
}

// pause is how long nothing is to be begun.
func (r *listRun) pause(begins bool) time.Duration {
	most := r.a.options.Parallel
	if r.ailing.err != nil {
		most = 1
	}
	if !begins || r.running >= most {
		return time.Hour // a result comes first
	}
	until := time.Hour
	if len(r.later) > 0 {
		until = time.Until(r.later[0].due)
	}
	if !r.looking && (len(r.fresh)+len(r.todo) > 0 || r.unchecked()) {
		until = min(until, time.Until(r.calm))
	}
	until = max(until, time.Until(r.ailing.next))
	if r.running == 0 && !r.looking {
		until = min(until, r.patience())
	}
	return max(until, time.Millisecond)
}

// takeIn notes what became of an attempt.
func (r *listRun) takeIn(done attempted) {
	r.running--
	e := done.entry
	e.last = done.result
	if r.away, e.held = done.away, done.held; r.away {
		r.calm = time.Now().Add(awayPause)
	}
	if done.forAll != nil {
		r.refused = done.forAll
		return
	}
	switch {
	case done.ailing != nil:
		r.ail(done.ailing)
	case done.progress || !done.again:
		r.progress = time.Now()
		if done.progress {
			r.ailing = illness{}
		}
	}
	if done.lost {
		if e.losses++; e.losses >= maxLosses {
			done.again, done.result.Outcome = false, Failed
		}
	}
	if !done.again {
		r.settle(e.place, done.result)
		r.close(e.chunk, done.result)
		return
	}
	delay := again.Backoff(e.tries+1, retryFirst, retryMost)
	if done.within > 0 {
		delay = min(delay, done.within/2+rand.N(done.within/2+1))
	}
	e.tries++
	e.due = time.Now().Add(max(delay, 50*time.Millisecond))
	if e.held {
		r.held++
	}
	at, _ := slices.BinarySearchFunc(r.later, e.due, func(o *entry, due time.Time) int { return o.due.Compare(due) })
	r.later = slices.Insert(r.later, at, e)
}

// settle counts and reports what became of an asset.
func (r *listRun) settle(place int, result Result) {
	r.counts.add(result, 1)
	r.memory.places[place] = remembered(result)
	r.a.options.Report(result)
}

// ail notes that this host is ailing, and how long to wait.
func (r *listRun) ail(err error) {
	if r.ailing.err == nil {
		r.ailing.since = time.Now()
		r.a.options.Log.Error("this run pauses: its assets are free for other hosts", "error", err)
	}
	r.ailing.err, r.ailing.next = err, time.Now().Add(again.Backoff(r.ailing.tries+1, retryFirst, retryMost))
	r.ailing.tries++
}

// abandon reports what is left: as stopped, or as held.
func (r *listRun) abandon(stopped bool) {
	rest := Result{Outcome: Stopped, Error: errStopping.Error()}
	if !stopped {
		rest = Result{Outcome: Held, Error: r.waitsFor()}
	}
	left := slices.Concat(r.later, r.fresh)
	for _, e := range left {
		if stopped || e.last.Outcome == "" {
			e.last.Outcome, e.last.Error = rest.Outcome, cmp.Or(e.last.Error, rest.Error)
		}
		if stopped {
			r.counts.add(e.last, 1)
		}
		r.a.options.Report(e.last)
	}
	untouched := 0
	for _, n := range r.todo {
		c := &chunk{number: n}
		from, to := c.bounds(r.list)
		r.a.options.ReportAll(r.of(c, slices.Repeat([]bool{true}, to-from), rest))
		untouched += to - from
	}
	if r.later, r.fresh = left, nil; stopped {
		r.later, r.held, r.counts.Stopped = nil, 0, r.counts.Stopped+untouched
	}
	r.tell()
	if r.counts.Unchecked = !r.memory.checked && len(left)+untouched == 0; !stopped {
		r.counts.Later += untouched
		r.a.options.Counts(r.counts)
	}
}

// waitsFor says what kept a run from beginning an asset.
func (r *listRun) waitsFor() string {
	if r.ailing.err != nil {
		return r.ailing.err.Error()
	}
	what, since := r.a.outage.now()
	return sinceWhen(cmp.Or(what, "the daemon takes nothing"), since)
}

func (r *listRun) tell() {
	r.counts.Running, r.counts.Held, r.counts.Later = r.running, r.held, len(r.later)-r.held
	r.counts.Away, r.counts.AwaySince = r.a.outage.now()
	r.a.options.Counts(r.counts)
}
