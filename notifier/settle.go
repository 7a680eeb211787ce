// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/outbox"
)

const (
	// tellFirst is when an outcome is brought to the ticket again. It is short, and askMax bounds its backoff, because once
	// the attempt's lease is over another host takes a missing outcome for an unknown one.
	tellFirst = time.Second

	persistFirst = 500 * time.Millisecond
	persistMax   = 15 * time.Second
)

var stripes = maphash.MakeSeed()

// conclude records the outcome of an attempt that was taken: in the outbox first, then on the ticket.
func (j *job) conclude(r Result) {
	number, now := j.d.Attempts+1, time.Now()
	status, text, due := j.decide(r, number, now)
	o := j.outcome(status, number, now, plain.Line(text, maxError))
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

func (j *job) outcome(s outbox.Status, number int, at time.Time, text string) outbox.Outcome {
	return outbox.Outcome{
		Ref: j.in.Ref, Asset: j.in.Asset, Task: j.in.Task, Run: j.in.Run, Key: j.in.Key, Channel: j.name,
		Number: number, Status: s, At: at, Error: text,
	}
}

func (j *job) tell(o outbox.Outcome) (closed bool, err error) {
	ctx, cancel := context.WithTimeout(j.n.ctx, askTimeout)
	defer cancel()
	return j.n.Outcome(ctx, o)
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

// settle records a status that the ticket has already. No attempt is counted.
func (j *job) settle(s outbox.Status, text string) {
	o := j.outcome(s, j.d.Attempts, time.Now(), text)
	if j.n.persist(func() error { return j.n.box.Record(o, time.Now(), false) }) == nil {
		j.finish(false)
	}
}

// left names the channels other than this one that are not settled yet, or not on the ticket, or wait for a person here.
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

// putOff is for a question that got no answer.
func (j *job) putOff(what string, err error) {
	j.memo.asks++
	if !j.n.stopping() {
		j.n.warn(slog.LevelWarn, what, slog.String("ticket", j.in.Ticket), slog.String("channel", j.name), slog.Any("error", err))
	}
	j.postpone(again.Backoff(j.memo.asks, min(j.n.RetryFirst, askMax), askMax))
}

func (j *job) postpone(wait time.Duration) {
	j.again = time.Now().Add(wait)
	_ = j.n.persist(func() error { return j.n.box.Postpone(j.in.Ref, j.name, j.again) })
}

// persist writes to the outbox, again and again until it succeeds or the notifier stops. Meanwhile the caller's place in its
// lane is taken, so that nothing is sent over and over that cannot be recorded. outbox.ErrNotFound is returned at once.
func (n *Notifier) persist(write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || errors.Is(err, outbox.ErrNotFound) {
			return err
		}
		n.warn(slog.LevelError, "cannot write to the outbox; what was sent may be sent again after a restart", slog.Any("error", err))
		if n.stopping() {
			return err
		}
		n.sleep(again.Backoff(try, persistFirst, persistMax))
	}
}

// sleep returns early when the notifier stops.
func (n *Notifier) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-n.quit:
	case <-t.C:
	}
}
