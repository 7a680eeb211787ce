// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

const (
	// tellFirst is when an outcome is brought to the ticket again. It is short, and askMax bounds its backoff, because once
	// the attempt's lease is over another host takes a missing outcome for an unknown one.
	tellFirst = time.Second
)

var stripes = maphash.MakeSeed()

// conclude records the outcome of an attempt that was taken: in the outbox first, then on the ticket.
func (j *job) conclude(r channel.Result) {
	number, now := j.d.Attempts+1, time.Now()
	status, text, due := j.decide(r, number, now)
	o := j.outcome(status, number, now, plain.Line(text, channel.MaxError))
	j.n.metrics.results.WithLabelValues(j.name, string(status)).Inc()
	if o.Error != "" {
		j.n.Logger.LogAttrs(context.Background(), levelOf(status), "a notification was not accepted, or not for all",
			slog.String("ticket", o.Ticket), slog.String("channel", o.Channel), slog.Int("attempt", number),
			slog.String("status", string(status)), slog.String("reason", o.Error))
	}

	record := func() error { return j.n.box.Record(o, due, false) }
	err := record()
	var closed bool
	var untold error
	if err != nil && !errors.Is(err, outbox.ErrNotFound) {
		// Another host would send again, so the ticket is told although the outbox, which should come first, is not.
		closed, untold = j.tell(o)
		if j.n.persist(record) != nil {
			return
		}
	} else {
		closed, untold = j.tell(o)
	}
	j.again = due
	switch {
	case status.Settled() && untold == nil:
		j.d.Status = status
		j.finish(closed)
	case status.Settled():
		j.putOff("cannot bring an outcome to the ticket", untold)
	case untold != nil:
		j.memo.untold = &o
	}
}

// keep leaves to a person what Redis has lost and may have arrived. No ticket tells of it, so it stays in the outbox with its content.
func (j *job) keep() {
	o := j.outcome(outbox.Parked, j.d.Attempts, time.Now(),
		"Redis lost it, and whether it went out is not known: retry, discard or settle it on this host, which alone has it")
	if j.n.persist(func() error { return j.n.box.Keep(o) }) != nil {
		return
	}
	j.memo = memo{}
	j.n.metrics.results.WithLabelValues(j.name, string(outbox.Parked)).Inc()
	j.n.Logger.LogAttrs(context.Background(), slog.LevelError, "a notification waits for a person in the outbox of this host alone",
		slog.String("ticket", o.Ticket), slog.String("channel", o.Channel), slog.String("reason", o.Error))
	_, _ = j.tell(o) // for the audit; the ticket takes nothing of it
}

func levelOf(s outbox.Status) slog.Level {
	if s.Settled() && s != outbox.Sent {
		return slog.LevelError
	}
	return slog.LevelWarn
}

// bring takes a settled status that is not on the ticket yet to it.
func (j *job) bring() {
	closed, err := j.tell(j.outcome(j.d.Status, j.d.Attempts, j.d.At, j.d.Error))
	if err != nil {
		j.putOff("cannot bring an outcome to the ticket", err)
		return
	}
	j.finish(closed)
}

// repeat settles the channel by a receipt of the same run.
func (j *job) repeat(r outbox.Receipt) {
	o := j.outcome(outbox.Sent, j.d.Attempts, r.At, r.Error)
	if j.n.persist(func() error { return j.n.box.Record(o, time.Now(), false) }) == nil {
		j.d.Status, j.d.At, j.d.Error = o.Status, o.At, o.Error
		j.bring()
	}
}

// finish notes that the channel's settled status is on the ticket. With its last channel the intent is shut, in the same write:
// what is recorded and not shut would not be looked at again after a crash. When the ticket needs nothing more of the intent, its
// other channels ask at once.
func (j *job) finish(closed bool) {
	j.memo, j.again = memo{}, time.Time{}
	mu := &j.n.closing[maphash.String(stripes, j.in.ID)%uint64(len(j.n.closing))]
	mu.Lock()
	defer mu.Unlock()
	left, err := j.left()
	if err != nil {
		j.putOff("cannot read an intent from the outbox", err)
		return
	}
	if len(left) == 0 && !j.d.Waits() {
		_ = j.shut(j.name)
		return
	}
	_ = j.n.persist(func() error { return j.n.box.Recorded(j.in.Ref, j.name) })
	for _, name := range left {
		if now := time.Now(); closed && j.n.box.Postpone(j.in.Ref, name, now) == nil {
			j.again = now
		}
	}
}

// shut takes the intent out of what is sent. What other channels have sent meanwhile still comes to the ticket.
func (j *job) shut(recorded ...string) error {
	for name := range j.in.Channels {
		j.n.forget(key{j.in.ID, name})
	}
	return j.n.persist(func() error { return j.n.box.Shut(j.in.Ref, recorded...) })
}

// close records a status that the ticket has already. No attempt is counted.
func (j *job) close(s outbox.Status, text string) {
	o := j.outcome(s, j.d.Attempts, time.Now(), text)
	if j.n.persist(func() error { return j.n.box.Record(o, time.Now(), false) }) == nil {
		j.d.Status = s
		j.finish(false)
	}
}

// left names the channels other than this one that are not settled yet, or not on the ticket, or wait for a person.
func (j *job) left() (names []string, err error) {
	if len(j.in.Channels) == 1 {
		return nil, nil
	}
	in, err := j.n.box.Get(j.in.Ref)
	if err != nil && !errors.Is(err, outbox.ErrNotFound) {
		return nil, err
	}
	for name, d := range in.Channels {
		if name != j.name && (!d.Status.Settled() || !d.Recorded || d.Waits()) {
			names = append(names, name)
		}
	}
	return names, nil
}

// decide turns a sender's result into what is recorded, and when the channel is looked at next. It is the one place that
// knows of at_most_once, of give_up and of the backoff.
func (j *job) decide(r channel.Result, number int, now time.Time) (status outbox.Status, text string, due time.Time) {
	end := j.end()
	switch {
	case r.Status.Settled():
		return r.Status, r.Error, now.Add(tellFirst)
	case j.d.AtMostOnce && (r.Status == outbox.Unknown || r.Doubtful):
		return outbox.Unknown, r.Error, now
	case !now.Before(end):
		return outbox.Dead, fmt.Sprintf("given up, it was not accepted within %v: %s", j.n.GiveUp, r.Error), now.Add(tellFirst)
	}
	due = now.Add(max(again.Backoff(number, j.n.RetryFirst, j.n.RetryMax), r.RetryAfter))
	if due.After(end) {
		due = end // for a last time
	}
	return r.Status, r.Error, due
}
