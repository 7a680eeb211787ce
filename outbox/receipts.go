// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"slices"
	"strings"
	"time"
)

// closedSize is about what a closed intent takes in the file, with its indexes, in bytes.
const closedSize = 1 << 10

// Receipt is the recorded fact that a channel accepted a notification.
type Receipt struct {
	Ref
	Key     string
	Run     int64
	Channel string
	At      time.Time
	Error   string // who did not get it all the same, or empty
}

// Receipt returns this outbox's receipt for a ticket's run on a channel, if there is one. It is there from Record on, whatever
// became of its intent.
func (s *Store) Receipt(ticket string, run int64, channel string) (r Receipt, ok bool, err error) {
	all, err := s.Ticket(ticket)
	if err != nil {
		return Receipt{}, false, err
	}
	for _, in := range all {
		if d := in.Channels[channel]; in.Run == run && d.Status == Sent {
			return Receipt{Ref: in.Ref, Key: in.Key, Run: run, Channel: channel, At: d.At, Error: d.Error}, true, nil
		}
	}
	return Receipt{}, false, nil
}

// Attempted reports whether this outbox knows of an attempt for a ticket's run on a channel, of another intent than ref's, of which
// it is not known whether it arrived, or was not known until a person said so. With retried, a Delivery's, those before it do not count.
func (s *Store) Attempted(ref Ref, run int64, channel, retried string) (bool, error) {
	all, err := s.Ticket(ref.Ticket)
	if err != nil {
		return false, err
	}
	for _, in := range all {
		d := in.Channels[channel]
		other := in.ID != ref.ID && in.Run == run && (retried == "" || in.ID == retried || d.Retried == retried)
		if other && (d.Status == Sending || d.Status == Unknown || d.Status == Parked || d.Unsure) {
			return true, nil
		}
	}
	return false, nil
}

// prune removes closed intents that are too old, or too many, at most n: a portion of each write that keeps up with those that
// are closed, because each intent takes several.
func (s *Store) prune(t *tx, n int) {
	before := time.Now().Add(-s.keep)
	over := s.counts[Closed] + t.delta[Closed] - s.most
	for i, k := range t.prefixed(orderBucket, []byte(Closed), n) {
		k := k[len(Closed):]
		if i >= over && unstamp(k).After(before) {
			return
		}
		h, err := t.byID(string(k[8:]))
		if err == nil {
			err = t.remove(h)
		}
		if err != nil && t.err == nil {
			t.err = err
		}
	}
}

// mostRuns are remembered. Redis brings back the sign of life of a run only as long as one lives, and few start in that time.
const mostRuns = 32

var runsKey = []byte("runs")

// Enlist notes that a run of the daemon has this outbox, and returns those that had it before, the newest last, at most mostRuns.
func (s *Store) Enlist(run string) (former []string, err error) {
	err = s.write(false, func(t *tx) error {
		known, err := t.get(metaBucket, runsKey)
		if err != nil {
			s.log.Warn("the former runs of this outbox are not known any more", "error", err)
		}
		all := strings.Fields(string(known))
		former = slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == run })
		former = former[max(0, len(former)-mostRuns):]
		if !slices.Contains(all, run) {
			t.put(metaBucket, runsKey, []byte(strings.Join(append(slices.Clone(former), run), " ")))
		}
		return nil
	})
	return former, err
}
