// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestWrite_ConcurrentCallersShareTransactions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const callers, each = 64, 5
	before := lastTx(t, s)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				if err := s.Stage(newIntent(fmt.Sprintf("host-%d/w48", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := lastTx(t, s) - before; n > callers*each/2 {
		t.Errorf("%d writes of %d callers took %d transactions", callers*each, callers, n)
	}
	if got := s.Stats().Staged; got != callers*each {
		t.Errorf("%d are staged", got)
	}
}

func TestWrite_WhatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	if err := errors.Join(s.Stage(in), s.Commit(in.Ref)); err != nil {
		t.Fatal(err)
	}
	before := lastTx(t, s)
	if err := errors.Join(s.Commit(in.Ref), s.Adopt(in), s.Drop(in.Ref)); err != nil {
		t.Fatal(err)
	}
	if n := lastTx(t, s) - before; n != 0 {
		t.Errorf("it took %d transactions", n)
	}
}

func lastTx(t *testing.T, s *Store) (id int) {
	t.Helper()
	if err := s.view(func(t *tx) error { id = t.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return id
}

// A refused call leaves those of its transaction alone.
func TestWrite_ARefusalIsItsOwn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	taken := newIntent("web-01/w48")
	if err := s.Stage(taken); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if i%2 == 0 {
				if err := s.Stage(newIntent("web-01/w48")); err != nil {
					t.Error(err)
				}
			} else if s.Stage(taken) == nil {
				t.Error("an id was taken twice")
			}
		})
	}
	wg.Wait()
	if got := s.Stats().Staged; got != 33 {
		t.Errorf("%d are staged", got)
	}
}

// Producers accept, consumers send what Due and Changed bring them, until nothing is left. A lost signal hangs it.
func TestConcurrent_EverythingAcceptedIsBrought(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const producers, each = 16, 10
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for range each {
				in := newIntent(fmt.Sprintf("host-%d/w48", p))
				if err := errors.Join(s.Stage(in), s.Commit(in.Ref)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stuck := time.After(time.Minute)
	for done := 0; done < producers*each; {
		select {
		case <-s.Changed():
		case <-stuck:
			t.Fatalf("%d of %d were brought; left are %+v", done, producers*each, s.Stats())
		}
		for {
			due, next, err := s.Due(time.Now(), 7)
			if err != nil {
				t.Fatal(err)
			}
			if len(due) == 0 {
				if !next.IsZero() && next.After(time.Now()) {
					t.Fatalf("the next is due at %v", next)
				}
				if next.IsZero() {
					break
				}
			}
			var senders sync.WaitGroup
			for _, d := range due {
				senders.Go(func() {
					o := Outcome{Ref: d.Ref, Channel: d.Channel, Number: 1, Status: Sent, At: time.Now()}
					if err := errors.Join(s.Record(o, time.Now(), true), s.Shut(d.Ref)); err != nil {
						t.Error(err)
					}
				})
			}
			senders.Wait()
			done += len(due)
		}
	}
	wg.Wait()
	if got := s.Stats(); got != (Stats{}) {
		t.Errorf("left are %+v", got)
	}
}
