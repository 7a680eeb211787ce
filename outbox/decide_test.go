// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestG10_DecidedIsAFact: what the ticket says settles what is not settled here, and no more; with the last channel the intent closes.
func TestG10_DecidedIsAFact(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "outbox.db"), Options{})
	in := newIntent("web-01/w48")
	in.Channels = map[string]Delivery{"ops": {Type: "webhook", Body: []byte("x")}, "pager": {Type: "exec", Body: []byte("y")}}
	sent := Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: time.Now()}
	if err := errors.Join(s.Stage(in), s.Commit(in.Ref), s.Record(sent, time.Now(), false)); err != nil {
		t.Fatal(err)
	}
	is := func(origin Origin, ops, pager Status, due int) {
		t.Helper()
		got, err := s.Get(in.Ref)
		all, _, dueErr := s.Due(time.Now().Add(time.Hour), 10)
		if err := errors.Join(err, dueErr); err != nil || got.Origin != origin || got.Channels["ops"].Status != ops ||
			got.Channels["pager"].Status != pager || len(all) != due {
			t.Errorf("it is %s, %+v, %d are due, %v", got.Origin, got.Channels, len(all), err)
		}
	}
	if err := s.Decide(in.Ref, map[string]Status{"ops": Discarded, "pager": Discarded}); err != nil {
		t.Fatal(err)
	}
	is(Committed, Sent, Discarded, 1) // the receipt is to come to the ticket yet
	if err := s.Record(Outcome{Ref: in.Ref, Channel: "pager", Number: 1, Status: Pending}, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	is(Committed, Sent, Discarded, 1)
	if err := errors.Join(s.Recorded(in.Ref, "ops"), s.Decide(in.Ref, nil)); err != nil {
		t.Fatal(err)
	}
	is(Closed, Sent, Discarded, 0)
	if err := s.Decide(Ref{in.Ticket, "another"}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("of another: %v", err)
	}
}

func TestSendableGoesRoundAndSoonGoesByTime(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "outbox.db"), Options{})
	now := time.Now()
	for i, do := range []func(Intent) error{
		s.Stage, s.Adopt, s.Adopt,
		func(in Intent) error { return errors.Join(s.Stage(in), s.Commit(in.Ref)) },
		func(in Intent) error { return errors.Join(s.Stage(in), s.Commit(in.Ref), s.Shut(in.Ref)) },
	} {
		in := newIntent("web-01/w48")
		in.Channels = map[string]Delivery{"ops": {Type: "webhook", Body: []byte("x"), Due: now.Add(time.Duration(10-i) * time.Minute)}}
		if err := do(in); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	var next []byte
	for range 4 { // two rounds
		all, n, err := s.Sendable(next, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range all {
			seen[in.ID]++
		}
		next = n
	}
	for id, n := range seen {
		if n != 2 || len(seen) != 3 {
			t.Errorf("of %d in two rounds %s came %d times", len(seen), id, n)
		}
	}
	soon, err := s.Soon(now.Add(8*time.Minute), 10)
	if err != nil || len(soon) != 2 || !soon[0].Channels["ops"].Due.Before(soon[1].Channels["ops"].Due) {
		t.Errorf("soon are %+v, %v", soon, err)
	}
}
