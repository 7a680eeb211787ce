// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

const (
	// leaseSlack is what an attempt's lease is longer than the longest attempt.
	leaseSlack = 10 * time.Second

	// relyFor is how long, counted from the question on Boottime, no answer, or that Redis lost it, is a reason to send: the engine's
	// 5 s, and what it and a busy machine add.
	relyFor = 12 * time.Second

	// leastWait keeps a lease that is about to end from being asked for over and over.
	leastWait = 20 * time.Millisecond

	// sharedPause is the pause before a channel is looked at again while another intent of the same key is at it.
	sharedPause = 500 * time.Millisecond

	// strangerPause is the pause before a channel is looked at again that is not configured here, or under another type.
	strangerPause = time.Minute
)

// look does what there is to do for a channel of an intent, and says when to look again.
func (n *Notifier) look(ch *gate, due entry, k key) (again time.Time) {
	in, err := n.box.Get(due.Ref)
	d, ok := in.Channels[due.Channel]
	switch {
	case err != nil && !errors.Is(err, outbox.ErrNotFound):
		n.warn(slog.LevelError, "cannot read an intent from the outbox", slog.String("ticket", due.Ticket), slog.Any("error", err))
		n.sleep(errorPause)
		return time.Now()
	case err != nil, !ok, in.Origin == outbox.Staged:
		n.forget(k)
		return time.Time{}
	}
	n.mu.Lock()
	j := job{n: n, ch: ch, in: in, name: due.Channel, d: d, memo: n.memos[k], rank: due.rank}
	n.mu.Unlock()
	j.begin()
	n.mu.Lock()
	defer n.mu.Unlock()
	if j.memo == (memo{}) {
		delete(n.memos, k)
	} else {
		n.memos[k] = j.memo
	}
	return j.again
}

func (j *job) begin() {
	now := time.Now()
	switch {
	case j.d.Due.After(now): // it was put off since the outbox was read
		j.again = j.d.Due
		return
	case j.d.Status.Settled() && j.d.Recorded:
		j.memo = memo{}
		return
	case j.d.Status.Settled():
		j.bring()
		return
	case j.in.Origin == outbox.Closed:
		j.memo = memo{}
		return
	case j.ch == nil, j.ch.Type != j.d.Type:
		j.n.warn(slog.LevelWarn, "cannot send on a channel that is not configured here under the type that it was accepted for; it stays pending",
			slog.String("channel", j.name), slog.String("type", j.d.Type))
		j.postpone(j.n.spread(strangerPause))
		return
	}
	end, ok := j.n.begin(errand{j.in.Ticket, j.in.Run, j.name})
	if !ok {
		j.postpone(sharedPause)
		return
	}
	defer end()
	if o := j.memo.untold; o != nil {
		if _, err := j.tell(*o); err != nil {
			j.putOff("cannot bring an outcome to the ticket", err)
			return
		}
		j.memo.untold = nil
	}
	switch r, ok, err := j.n.box.Receipt(j.in.Ticket, j.in.Run, j.name); {
	case err != nil:
		j.putOff("cannot read a receipt from the outbox", err)
		return
	case ok: // under an intent that the ticket lost; people are not told again
		j.repeat(r)
		return
	}
	j.begun = j.d.Status == outbox.Sending || j.d.Status == outbox.Unknown
	if j.d.AtMostOnce && !j.begun {
		var err error
		if j.begun, err = j.n.box.Attempted(j.in.Ref, j.in.Run, j.name, j.d.Retried); err != nil {
			j.putOff("cannot read earlier attempts from the outbox", err)
			return
		}
	}
	if !j.memo.seated {
		j.memo.first = j.n.Boottime()
	}
	j.memo.seated, j.memo.rank = true, j.rank
	wait, inLine := j.ch.admit(now, waiting{key: key{j.in.ID, j.name}, rank: j.rank})
	last := j.waitsUntil()
	old := wait > 0 && !now.Before(last)
	if wait > 0 && !old {
		if !inLine || wait > j.n.RetryMax {
			wait = j.n.spread(min(wait, j.n.RetryMax))
		}
		j.postpone(min(wait, last.Sub(now)))
		return
	}
	j.n.serve(j.name, j.rank)
	if sent := j.ask(old); !sent && !old {
		j.ch.withdraw()
	}
}

// ask takes an attempt and does what the answer says. With old set the channel cannot be used and the intent is too old to
// wait for that.
func (j *job) ask(old bool) (sent bool) {
	lease := j.ch.Attempt + leaseSlack
	asked := j.n.Boottime()
	a, err := j.attempt(lease)
	alone := errors.Is(err, outbox.ErrAway) && j.alone() && !old
	if err != nil && !alone {
		j.putOff("cannot ask the ticket whether a notification may go out", err)
		return false
	}
	if !answers(a) && !alone {
		j.putOff("cannot understand the ticket's answer", fmt.Errorf("verdict %d, status %q", a.Verdict, a.Status))
		return false
	}
	j.memo.asks = 0
	switch {
	case alone && j.n.Boottime() > asked+relyFor:
		j.putOff("cannot tell whether Redis is away, because this process stood still; it is asked again", err)
	case alone:
		return j.send(asked+relyFor, false)
	case a.Verdict == outbox.Busy:
		wait := max(a.Wait, leastWait)
		j.memo.busyUntil = j.n.Boottime() + wait
		j.postpone(wait)
	case a.Verdict == outbox.Done:
		j.close(a.Status, "")
	case a.Verdict == outbox.Superseded:
		j.memo = memo{}
		_ = j.shut()
	case a.Verdict == outbox.Park:
		j.n.metrics.results.WithLabelValues(j.name, string(outbox.Parked)).Inc()
		j.close(outbox.Parked, "whether an earlier attempt arrived is not known")
	case j.d.AtMostOnce && a.Verdict == outbox.Lost && !j.untouched(a):
		j.keep()
	case j.d.AtMostOnce && j.begun: // the ticket fell back, the outbox did not
		j.conclude(channel.Result{Status: outbox.Parked, Error: "whether an earlier attempt arrived is not known"})
	case a.Verdict == outbox.Lost && j.tooOld():
		j.conclude(channel.Result{Status: outbox.Pending, Error: "the ticket lost what it had confirmed, and it is too old to be sent all the same"})
	case old:
		j.conclude(channel.Result{Status: outbox.Pending, Error: channel.WithDetail("the channel could not be used", j.d.Error)})
	case a.Verdict == outbox.Lost:
		return j.send(asked+relyFor, false)
	default:
		return j.send(asked+leaseSlack, true)
	}
	return false
}

// untouched reports whether nobody can have begun to send what Redis lost: it is this daemon's own, which others cannot have taken
// over, or a person had it sent anew.
func (j *job) untouched(a outbox.Answer) bool {
	return !j.begun && !j.tooOld() && (j.d.Lost || j.in.Origin == outbox.Committed && a.Sole)
}

// answers reports whether an answer is one of outbox.Verdict.
func answers(a outbox.Answer) bool {
	return a.Verdict >= outbox.Go && a.Verdict <= outbox.Park && (a.Verdict != outbox.Done || a.Status.Settled())
}

func (j *job) attempt(lease time.Duration) (outbox.Answer, error) {
	ctx, cancel := context.WithTimeout(j.n.ctx, askTimeout)
	defer cancel()
	return j.n.Attempt(ctx, outbox.Attempt{
		Ref: j.in.Ref, Asset: j.in.Asset, Task: j.in.Task, Run: j.in.Run, At: j.in.At, Boot: j.in.Boot, Clock: j.in.Clock,
		Channel: j.name, Number: j.d.Attempts + 1, Lease: lease, AtMostOnce: j.d.AtMostOnce,
	})
}

// alone reports whether this daemon may send without asking, because nobody answers: it is the one whose NOTIFYING write was
// confirmed, no other is known to be at it, and it is not too late. When it stops, it is the question that was cut off.
func (j *job) alone() bool {
	return j.n.ctx.Err() == nil && j.in.Origin == outbox.Committed && !j.d.AtMostOnce && j.n.Boottime() >= j.memo.busyUntil &&
		!j.tooOld()
}

// stands reports whether the outbox still has this to send: what an administrator decides is a fact there.
func (j *job) stands() bool {
	in, err := j.n.box.Get(j.in.Ref)
	return err == nil && in.Origin == j.in.Origin && !in.Channels[j.name].Status.Settled()
}

// send makes the attempt, which must begin by then, on Boottime; taken: on the ticket, so that its lease lasts for the whole time-out.
func (j *job) send(by time.Duration, taken bool) (sent bool) {
	if !taken && !j.stands() { // nor did the ticket say so
		j.again = time.Now()
		return false
	}
	if j.d.AtMostOnce {
		if err := j.n.box.Begin(j.in.Ref, j.name, j.d.Attempts+1); err != nil {
			j.n.warn(slog.LevelError, "cannot write the beginning of an attempt to the outbox", slog.Any("error", err))
			j.conclude(channel.Result{Status: outbox.Pending, Error: "the outbox did not take the beginning of the attempt, nothing was sent"})
			return false
		}
	}
	if j.n.Boottime() > by {
		j.conclude(channel.Result{Status: outbox.Pending, Error: "what the ticket had answered is too old to be relied upon, nothing was sent"})
		return false
	}
	ctx, cancel := context.WithTimeoutCause(j.n.ctx, j.ch.Attempt, fmt.Errorf("the time-out of %v is over", j.ch.Attempt))
	defer cancel()
	began := time.Now()
	r := j.ch.Send(ctx, channel.Delivery{Key: j.in.Key, Body: j.d.Body, Taken: j.d.Taken, Took: func(all []string) {
		if err := j.n.box.Took(j.in.Ref, j.name, all); err != nil {
			j.n.warn(slog.LevelError, "cannot write to the outbox who has a mail; they may get it again", slog.Any("error", err))
		}
	}})
	j.n.metrics.seconds.WithLabelValues(j.name).Observe(time.Since(began).Seconds())
	if j.n.ctx.Err() == nil { // what a stop cut off says nothing about the receiver
		open := j.ch.breaker.report(r.Status == outbox.Sent || r.Status == outbox.Dead || r.Partly, time.Now())
		j.n.metrics.breaker(j.name, open)
	}
	j.conclude(r)
	return true
}
