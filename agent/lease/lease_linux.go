// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/engine/process"
	"github.com/picketd/picket/sockapi/client"
)

// Lease keeps a claim alive, and cancels the work under it before anyone else can hold the lock.
type Lease struct {
	ctx    context.Context // done when the claim cannot be relied upon; its cause is then a *LostError
	cancel context.CancelCauseFunc
	ended  sync.WaitGroup
	until  atomic.Int64 // on CLOCK_BOOTTIME: when the work must have moved, or it hangs
}

// moveSlack is what the work on a claim may take beside what it says that it expects: calls that are repeated while the daemon
// or Redis is away, and commands that are slow to end.
const moveSlack = FollowFor + time.Minute

// Expect says that the work will move within that time. Without it no sign of life goes out any more, so that a claim does not
// outlive work that hangs.
func (l *Lease) Expect(within time.Duration) {
	l.until.Store(int64(process.Boottime() + within + moveSlack))
}

// Context is done when the claim cannot be relied upon; its cause is then a *LostError.
func (l *Lease) Context() context.Context { return l.ctx }

// Lost says whether the lease ended because the claim cannot be relied upon.
func (l *Lease) Lost() bool {
	_, ok := errors.AsType[*LostError](context.Cause(l.ctx))
	return ok
}

// Work that is done by then is not watched: that would cost it more than its writes.
const watchFrom = 250 * time.Millisecond

// Hold begins a lease on a claim that was answered to a call sent at a moment of CLOCK_BOOTTIME. A sign of life goes out three times in
// a heartbeat.
func Hold(parent context.Context, cl *client.Client, claim client.Claim, sent, heartbeat time.Duration) (*Lease, error) {
	first := Sight{Trust: claim.TrustSince(sent)}
	if claim.Status != client.StatusHeld || first.Trust.Until-process.Boottime() < time.Duration(claim.TrustedMS)*time.Millisecond/2 { // the answer took long
		first = First(parent, cl, claim.ID)
	}
	switch {
	case first.Lost != "":
		return nil, &LostError{Reason: first.Lost}
	case first.Trust.Until == 0:
		return nil, &LostError{Reason: cmp.Or(Away(first.Err), "the daemon does not answer")}
	}
	alarm, err := NewAlarm()
	if err != nil {
		return nil, err
	}
	l := &Lease{}
	l.Expect(0)
	l.ctx, l.cancel = context.WithCancelCause(parent)
	sights := make(chan Sight)
	l.ended.Go(func() {
		select {
		case <-time.After(watchFrom):
			Watch(l.ctx, cl, claim.ID, first.Trust.Until, sights)
		case <-l.ctx.Done():
		}
	})
	l.ended.Go(func() {
		defer alarm.Stop()
		l.attend(alarm, first.Trust, sights)
	})
	l.ended.Go(func() { l.beat(cl, claim.ID, heartbeat/3) })
	return l, nil
}

// attend follows what the daemon says. After every event the deadline is looked at first: this process may have stood still.
func (l *Lease) attend(alarm *Alarm, trust client.Trust, sights <-chan Sight) {
	for {
		alarm.Set(trust.Until)
		var s Sight
		select {
		case <-l.ctx.Done():
			return
		case seen, ok := <-sights:
			if !ok {
				sights = nil
			}
			s = seen
		case <-alarm.C:
		}
		lost := s.Lost
		now := process.Boottime()
		switch {
		case lost != "", now >= trust.Until:
			l.cancel(&LostError{lost, trust.KillAt(now)})
			return
		case s.Released: // by the work itself: it may go on without it
			return
		}
		trust = trust.Later(s.Trust)
	}
}

// End ends the lease, not the claim.
func (l *Lease) End() {
	l.cancel(context.Canceled)
	l.ended.Wait()
}

// beat gives a sign of life every so often, as long as the work moves. What comes of it is not its matter: the watch sees it.
func (l *Lease) beat(cl *client.Client, id string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			if int64(process.Boottime()) > l.until.Load() {
				continue
			}
			call, cancel := context.WithTimeout(l.ctx, every)
			_, _ = cl.Heartbeat(call, id)
			cancel()
		}
	}
}

// FollowFor is how long a call is repeated that meets a daemon which restarts, or a Redis that is away. A claim is lost sooner,
// unless its lock is renewed meanwhile.
const FollowFor = 2 * time.Minute
