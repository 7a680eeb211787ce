// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestDue_MostOverdueFirstAndWhenTheNextIs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	base := time.Unix(1_700_000_000, 7)
	var refs []Ref
	for i := range 5 {
		in := newIntent(fmt.Sprintf("host-%d/w48", i))
		d := in.Channels["ops"]
		d.Due = base.Add(-time.Duration(i) * time.Minute)
		in.Channels["ops"] = d
		refs = append(refs, in.Ref)
		if err := s.Adopt(in); err != nil {
			t.Fatal(err)
		}
	}
	check := func(now time.Time, limit int, next time.Time, want ...int) {
		t.Helper()
		due, gotNext, err := s.Due(now, limit)
		if err != nil || len(due) != len(want) || !gotNext.Equal(next) || gotNext.IsZero() != next.IsZero() {
			t.Fatalf("Due says %+v, then %v, %v", due, gotNext, err)
		}
		for i, d := range due {
			if d.Ref != refs[want[i]] || d.Channel != "ops" || !d.At.Equal(base.Add(-time.Duration(want[i])*time.Minute)) {
				t.Errorf("at %d stands %+v", i, d)
			}
		}
	}
	check(base, 10, time.Time{}, 4, 3, 2, 1, 0)
	check(base, 2, base.Add(-2*time.Minute), 4, 3)
	check(base.Add(-1), 10, base, 4, 3, 2, 1)
	check(base.Add(-time.Hour), 10, base.Add(-4*time.Minute))
	check(base, 0, base.Add(-4*time.Minute))

	// A poisoned one that is put off lets the others come first.
	if err := s.Postpone(refs[4], "ops", base.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	check(base, 10, base.Add(time.Minute), 3, 2, 1, 0)
}

func TestDue_ZeroAndAncientTimesAreFirst(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	in.At = time.Unix(1_700_000_000, 0)
	if err := errors.Join(s.Stage(in), s.Commit(in.Ref)); err != nil {
		t.Fatal(err)
	}
	due, _, err := s.Due(in.At, 1)
	if err != nil || len(due) != 1 || !due[0].At.Equal(in.At) {
		t.Errorf("without a time of its own it is due with %+v, %v; it should be when it was staged", due, err)
	}
	if err := s.Postpone(in.Ref, "ops", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if due, _, err := s.Due(time.Unix(0, 0), 1); err != nil || len(due) != 1 {
		t.Errorf("put off to the year 1 it is not due, %v", err)
	}
}

func TestDue_FollowsAChannelsStatus(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	at := time.Unix(1_700_000_000, 0)
	expect := func(step string, want time.Time, err error) {
		t.Helper()
		due, _, dueErr := s.Due(at.Add(time.Hour), 10)
		if err := errors.Join(err, dueErr); err != nil {
			t.Fatal(err)
		}
		if want.IsZero() != (len(due) == 0) || len(due) == 1 && !due[0].At.Equal(want) || len(due) > 1 {
			t.Errorf("after %s due are %+v", step, due)
		}
	}
	out := func(st Status, n int) Outcome {
		return Outcome{Ref: in.Ref, Channel: "ops", Number: n, Status: st, At: at, Error: "503"}
	}
	d := in.Channels["ops"]
	d.Due = at
	in.Channels["ops"] = d
	expect("Stage", time.Time{}, s.Stage(in))
	expect("Postpone of a staged one", time.Time{}, s.Postpone(in.Ref, "ops", at.Add(time.Second)))
	expect("Commit", at, s.Commit(in.Ref))
	expect("Begin", at, s.Begin(in.Ref, "ops", 1))
	expect("a failure", at.Add(time.Second), s.Record(out(Pending, 1), at.Add(time.Second), false))
	expect("Recorded of what is not settled", at.Add(time.Second), s.Recorded(in.Ref, "ops"))
	expect("an unknown end", at.Add(2*time.Second), s.Record(out(Unknown, 2), at.Add(2*time.Second), false))
	expect("a receipt", at.Add(3*time.Second), s.Record(out(Sent, 3), at.Add(3*time.Second), false))
	expect("a late failure", at.Add(3*time.Second), s.Record(out(Dead, 3), at.Add(9*time.Second), false))
	expect("Postpone", at.Add(4*time.Second), s.Postpone(in.Ref, "ops", at.Add(4*time.Second)))
	expect("Recorded", time.Time{}, s.Recorded(in.Ref, "ops"))
	expect("the receipt again", time.Time{}, s.Record(out(Sent, 3), at, false))
	expect("Postpone of what is done", time.Time{}, s.Postpone(in.Ref, "ops", at))
	if got, err := s.Get(in.Ref); err != nil || got.Channels["ops"].Attempts != 3 || got.Channels["ops"].Status != Sent {
		t.Errorf("in the end it is %+v, %v", got.Channels["ops"], err)
	}
}

func TestBegin_OnlyFromPendingOfASendableIntent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	if err := s.Stage(in); err != nil {
		t.Fatal(err)
	}
	if s.Begin(in.Ref, "ops", 1) == nil {
		t.Error("an attempt of a staged intent began")
	}
	if err := errors.Join(s.Commit(in.Ref), s.Begin(in.Ref, "ops", 1)); err != nil {
		t.Fatal(err)
	}
	for _, st := range []Status{Sending, Unknown, Parked, Dead, Discarded, Sent} {
		if st != Sending {
			if err := s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: st, At: time.Now()}, time.Now(), false); err != nil {
				t.Fatal(err)
			}
		}
		if s.Begin(in.Ref, "ops", 2) == nil {
			t.Errorf("a second attempt began on a channel that is %s", st)
		}
		if got, err := s.Get(in.Ref); err != nil || got.Channels["ops"].Status != st || got.Channels["ops"].Attempts != 1 {
			t.Errorf("it is %+v, %v", got.Channels["ops"], err)
		}
	}
}

func TestChanged_IsSignalledForWhatIsDueSooner(t *testing.T) {
	t.Parallel()
	s := setup(t)
	at := time.Unix(1_700_000_000, 0)
	in, other := newIntent("web-01/w48"), newIntent("web-01/w49")
	signalled := func() bool {
		select {
		case <-s.Changed():
			return true
		default:
			return false
		}
	}
	expect := func(step string, want bool, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := signalled(); got != want {
			t.Errorf("after %s it is signalled: %v", step, got)
		}
	}
	expect("opening", false, nil)
	expect("Stage", false, s.Stage(in))
	expect("Commit before Due was asked", true, s.Commit(in.Ref))
	expect("Postpone", true, s.Postpone(in.Ref, "ops", at.Add(time.Minute)))
	if _, next, err := s.Due(at, 10); err != nil || !next.Equal(at.Add(time.Minute)) {
		t.Fatal(next, err)
	}
	expect("Postpone to later", false, s.Postpone(in.Ref, "ops", at.Add(time.Hour)))
	expect("Postpone to sooner", true, s.Postpone(in.Ref, "ops", at.Add(time.Second)))
	expect("Adopt", false, s.Adopt(other)) // it is due now, years after what Due said
	expect("Recorded", false, s.Recorded(in.Ref, "ops"))
}

// TestNewestIsDueFromItsEnd: both say the same of a channel.
func TestNewestIsDueFromItsEnd(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for range 5 {
		if err := s.Adopt(newIntent("web-01/w48")); err != nil {
			t.Fatal(err)
		}
	}
	due, _, err := s.Due(time.Now(), 10)
	newest, newestErr := s.Newest(time.Now(), 10)
	slices.Reverse(newest)
	if err != nil || newestErr != nil || len(due) != 5 || !slices.Equal(newest, due) {
		t.Errorf("due are %v, %v, and from the end %v, %v", due, err, newest, newestErr)
	}
}
