// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"log/slog"
	"time"

	"github.com/picketd/picket/agent/again"
	"github.com/picketd/picket/outbox"
)

const (
	// askMax bounds the pause between two questions to a store that gave no answer; askTimeout one question, which the
	// engine ends after 5 s by itself.
	askMax     = 10 * time.Second
	askTimeout = 15 * time.Second
)

// job is one look at one channel of an intent.
type job struct {
	n     *Notifier
	ch    *gate // nil: not configured
	in    outbox.Intent
	name  string // of the channel
	d     outbox.Delivery
	begun bool // at_most_once: an attempt was begun of which nobody knows whether it arrived, here or under an earlier intent
	memo  memo
	rank  rank
	again time.Time // when it is to be looked at next; zero: when the outbox says so
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

func (j *job) tooOld() bool { return !time.Now().Before(j.end()) }

// end is when give_up is over, by the wall clock as it goes now. That may have been set since this boot staged the intent.
func (j *job) end() time.Time {
	if j.in.Boot != "" && j.in.Boot == j.n.Boot {
		return time.Now().Add(j.in.Clock + j.n.GiveUp - j.n.Boottime())
	}
	return j.in.At.Add(j.n.GiveUp)
}

// waitsUntil is for how long a channel that cannot be used is waited for: to the end, and where nothing was tried from here yet, for as
// long as give_up since this run looked first. A clock may have been wrong, or all hosts away.
func (j *job) waitsUntil() time.Time {
	end := j.end()
	if untried := time.Now().Add(j.memo.first + j.n.GiveUp - j.n.Boottime()); j.d.Attempts == 0 && untried.After(end) {
		return untried
	}
	return end
}
