// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"
)

const (
	maxLosses  = 5                // of claims on one asset, until it is a failure
	retryFirst = time.Second      // before something is tried again that another has or that was put off
	retryMost  = 15 * time.Second // so that what another gives back is found soon
	ailingMost = 5 * time.Minute  // for how long a run waits for this host to get well; its assets are free meanwhile
)

// entry is an asset that is not settled.
type entry struct {
	asset  assets.Asset
	name   string // of its requests for a claim: an answer that was lost is given again
	due    time.Time
	tries  int // that ended with: try again
	losses int
	held   bool // another had it the last time
	last   Result
}

// attempted is what one attempt has come to.
type attempted struct {
	entry    *entry
	result   Result
	again    bool
	lost     bool
	away     bool          // the daemon, or its Redis, could not be asked
	held     bool          // another has it
	ailing   error         // something is wrong with this host
	forAll   error         // a refusal that every asset would get
	progress bool          // something was recorded
	within   time.Duration // by when another's claim ends at latest, unless it is renewed; 0 when nobody said
}

// run is one run over a list. One goroutine owns it.
type run struct {
	a        *Agent
	counts   Counts
	fresh    []*entry // not tried yet
	later    []*entry // tried, and to be tried again; the one due first comes first
	running  int
	held     int       // of later
	progress time.Time // when something was last settled or recorded
	away     bool      // the last claim could not be made
	ailing   ailing    // what is wrong with this host
	refused  error     // why no asset can be claimed
	results  chan attempted
}

// ailing is an illness of this host. While it lasts, one asset at a time is tried, after a pause, to see whether it has passed.
type ailing struct {
	err   error // nil while the host is well
	since time.Time
	next  time.Time // when to try again
	tries int
}

// Run takes the assets through the flow, several at a time, in an order of chance, so that several hosts with the same list
// share it. When stopping closes, running assets finish their step and no others are begun. When ctx is done, what runs is
// ended at once. It returns when everything is settled, given up or stopped, with Held and Stopped as what is left. The bad
// lines of the list are reported first and count as failed. The error is a refusal that every asset would get.
func (a *Agent) Run(ctx context.Context, stopping <-chan struct{}, assets []assets.Asset, bad []assets.BadLine) (Counts, error) {
	r := &run{a: a, results: make(chan attempted), progress: time.Now()}
	r.counts = Counts{Total: len(assets) + len(bad), Failed: len(bad), Began: time.Now()}
	for _, b := range bad {
		a.options.Report(badResult(b, a.options.Task))
	}
	for _, i := range rand.Perm(len(assets)) {
		r.fresh = append(r.fresh, &entry{asset: assets[i], name: cryptorand.Text(), last: Result{Asset: assets[i].Name, Task: a.options.Task}})
	}
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
		case r.running > 0:
		case r.refused != nil:
			return r.counts, r.refused
		case stopped || len(r.fresh)+len(r.later) == 0 || overdue:
			r.abandon(stopped)
			return r.counts, nil
		}
		timer := time.NewTimer(r.pause(begins))
		select {
		case done := <-r.results:
			r.settle(done)
			stopped = stopped || r.refused != nil
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
func (r *run) begin(ctx context.Context, stopping <-chan struct{}) {
	most, now := r.a.options.Parallel, time.Now()
	if r.ailing.err != nil {
		if most = 1; now.Before(r.ailing.next) {
			return
		}
	}
	for ; r.running < most; r.running++ {
		from := &r.fresh
		if len(r.later) > 0 && !r.later[0].due.After(now) {
			from = &r.later
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
func (r *run) overdue() bool {
	return (len(r.fresh) == 0 || r.away || r.ailing.err != nil) && r.patience() <= 0
}

// patience is how long this run still waits for something to move.
func (r *run) patience() time.Duration {
	if r.ailing.err != nil {
		return min(r.a.options.GiveUp, ailingMost) - time.Since(r.ailing.since)
	}
	return r.a.options.GiveUp - time.Since(r.progress)
}

// pause is how long nothing is to be begun.
func (r *run) pause(begins bool) time.Duration {
	most := r.a.options.Parallel
	if r.ailing.err != nil {
		most = 1
	}
	if !begins || r.running >= most || len(r.fresh)+len(r.later) == 0 {
		return time.Hour // a result comes first
	}
	until := time.Until(r.ailing.next)
	if len(r.fresh) == 0 {
		until = max(until, time.Until(r.later[0].due))
	}
	if r.running == 0 {
		until = min(until, r.patience())
	}
	return max(until, time.Millisecond)
}

// settle takes in what became of an attempt.
func (r *run) settle(done attempted) {
	r.running--
	e := done.entry
	e.last = done.result
	r.away, e.held = done.away, done.held
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
			r.ailing = ailing{}
		}
	}
	if done.lost {
		if e.losses++; e.losses >= maxLosses {
			done.again, done.result.Outcome = false, Failed
		}
	}
	if !done.again {
		r.counts.add(done.result)
		r.a.options.Report(done.result)
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

// ail notes that this host is ailing, and how long to wait.
func (r *run) ail(err error) {
	if r.ailing.err == nil {
		r.ailing.since = time.Now()
		r.a.options.Log.Error("this run pauses: its assets are free for other hosts", "error", err)
	}
	r.ailing.err, r.ailing.next = err, time.Now().Add(again.Backoff(r.ailing.tries+1, retryFirst, retryMost))
	r.ailing.tries++
}

// abandon reports what is left: as stopped, or as held.
func (r *run) abandon(stopped bool) {
	for _, e := range slices.Concat(r.later, r.fresh) {
		if stopped {
			e.last.Outcome, e.last.Error = Stopped, cmp.Or(e.last.Error, errStopping.Error())
			r.counts.add(e.last)
		} else if e.last.Outcome == "" {
			e.last.Outcome, e.last.Error = Held, r.waitsFor()
		}
		r.a.options.Report(e.last)
	}
	r.later, r.fresh = slices.Concat(r.later, r.fresh), nil
	if stopped {
		r.later, r.held = nil, 0
	}
	r.tell()
}

// waitsFor says what kept a run from beginning an asset.
func (r *run) waitsFor() string {
	if r.ailing.err != nil {
		return r.ailing.err.Error()
	}
	what, since := r.a.outage.now()
	return sinceWhen(cmp.Or(what, "the daemon takes nothing"), since)
}

func (r *run) tell() {
	r.counts.Running, r.counts.Held, r.counts.Later = r.running, r.held, len(r.later)-r.held
	r.counts.Away, r.counts.AwaySince = r.a.outage.now()
	r.a.options.Counts(r.counts)
}

// attempt claims an asset and works on it as long as the claim can be relied upon.
func (a *Agent) attempt(ctx context.Context, stopping <-chan struct{}, e *entry) (done attempted) {
	start := time.Now()
	done = attempted{entry: e, result: Result{Asset: e.asset.Name, Task: a.options.Task}}
	r := &done.result
	got, err := a.claimAsset(ctx, e.asset.Name, e.name)
	if err != nil {
		p, refused := errors.AsType[*client.Problem](err)
		if done.held = refused && p.Code == client.LockHeld; done.held && p.Holder != nil {
			done.within = max(time.Duration(p.Holder.RemainingMS)*time.Millisecond, time.Millisecond)
		}
		if ctx.Err() != nil {
			err = errStopping
		} else if lease.Transient(err) {
			done.away = true
		} else if isForAll(err) {
			done.forAll = err
		}
		if refused && p.Code == client.InvalidAsset {
			r.Line = e.asset.Line
		}
		done.again = r.settle(err)
		return done
	}
	if got.Claim == nil {
		r.describe(got.Ticket)
		r.Skipped = true
		done.again = r.settle(nil)
		return done
	}
	log := a.options.Log.With("asset", got.Claim.Asset, "task", got.Claim.Task, "token", got.Claim.Token)
	j := &job{a: a, claim: *got.Claim, stopping: stopping, log: log}
	j.take(got.Ticket, got.Next)
	if j.lease, err = lease.Hold(ctx, a.client, j.claim, a.options.Heartbeat); err != nil {
		err = blame(err)
	} else {
		err = j.advance()
		j.lease.End()
	}
	if ctx.Err() != nil && err != nil {
		err = errStopping
	}
	if lost, ok := errors.AsType[*lease.LostError](err); ok && lost.Reason == "" {
		lost.Reason = lease.WhyLost(a.client, j.claim)
	}
	r.describe(j.ticket)
	r.MS = time.Since(start).Milliseconds()
	done.lost, done.progress = lease.IsLost(err), j.recorded > 0
	if isHost(err) {
		done.ailing = err
	}
	if done.lost {
		log.Warn("the claim was lost: the asset is tried again later", "error", err)
	}
	if !j.released {
		a.release(j.claim, log, done.lost) // one that only this side has given up would else be held against it
	}
	done.again = r.settle(err)
	return done
}
