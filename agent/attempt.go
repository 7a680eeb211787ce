// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"

	"github.com/picketd/picket/agent/plain"
)

// entry is an asset that is not settled.
type entry struct {
	asset  assets.Asset
	flow   string // empty: the configuration's
	place  int    // in the list
	chunk  *chunk
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

// attempt claims an asset and works on it as long as the claim can be relied upon.
func (a *Agent) attempt(ctx context.Context, stopping <-chan struct{}, e *entry) (done attempted) {
	start := time.Now()
	done = attempted{entry: e, result: Result{Asset: e.asset.Name, Task: a.options.Task}}
	r := &done.result
	got, sent, err := a.claimAsset(ctx, e)
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
		done.again = r.conclude(err)
		return done
	}
	if got.Claim == nil {
		r.describe(got.Ticket)
		r.Skipped = true
		done.again = r.conclude(nil)
		return done
	}
	log := a.options.Log.With("asset", got.Claim.Asset, "task", got.Claim.Task, "token", got.Claim.Token)
	j := &job{a: a, claim: *got.Claim, stopping: stopping, log: log}
	j.take(got.Ticket, got.Next)
	if j.lease, err = lease.Hold(ctx, a.client, j.claim, sent, a.options.Heartbeat); err != nil {
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
	done.again = r.conclude(err)
	return done
}

// isForAll says whether an answer to a claim would be the same for every asset: a task, a flow or a flag is wrong.
func isForAll(err error) bool {
	p, ok := errors.AsType[*client.Problem](err)
	return ok && (p.Code == client.InvalidTask || p.Code == client.UnknownFlow || p.Code == client.Invalid && len(p.Errors) > 0 && p.Errors[0].Location != "body.asset")
}

// conclude says what an attempt has come to; again is true when the asset is to be tried again.
func (r *Result) conclude(err error) (again bool) {
	r.Outcome = Done
	if r.State == client.StateFailed {
		r.Outcome = Failed
	}
	if err == nil {
		return false
	}
	r.Error = plain.Line(err.Error(), 0)
	_, failed := errors.AsType[*stepError](err)
	p, refused := errors.AsType[*client.Problem](err)
	switch {
	case errors.Is(err, errStopping):
		r.Outcome = Stopped
	case failed:
		r.Outcome = Failed
	case refused && p.Code == client.InvalidAsset && r.Line > 0:
		r.Outcome, r.Error = Failed, fmt.Sprintf("line %d: %s", r.Line, r.Error)
	case refused && p.Code == client.LockHeld:
		r.Outcome, r.Error = Held, "held by another"
		if h := p.Holder; h != nil {
			r.Error = plain.Line(fmt.Sprintf("held by host %s, pid %d, for task %s", h.Host, h.PID, h.Task), 0)
		}
		return true
	case errors.Is(err, errLater), errors.Is(err, errUnavailable), isHost(err), lease.IsLost(err), lease.Transient(err):
		r.Outcome = Held
		return true
	default:
		r.Outcome = Failed
	}
	return false
}
