// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestG10_WhatIsKeptIsThereWithItsContentUntilAPersonDecides, also after a restart, and is never due before.
func TestG10_WhatIsKeptIsThereWithItsContentUntilAPersonDecides(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{})
	in := newIntent("web-01/w48")
	d := in.Channels["ops"]
	d.AtMostOnce = true
	in.Channels["ops"] = d
	kept := Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Parked, At: time.Now(), Error: "not known"}
	if err := errors.Join(s.Stage(in), s.Commit(in.Ref), s.Begin(in.Ref, "ops", 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Again(in.Ref, "ops", "early"); !errors.Is(err, ErrNotFound) {
		t.Errorf("what does not wait is sent once more: %v", err)
	}
	if err := errors.Join(s.Keep(kept), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{})
	got, err := s.Get(in.Ref)
	if d := got.Channels["ops"]; err != nil || got.Origin != Committed || !d.Waits() || string(got.Content) != string(in.Content) || string(d.Body) != string(in.Channels["ops"].Body) {
		t.Errorf("it is %+v, %v", got, err)
	}
	if due, next, err := s.Due(time.Now().Add(time.Hour), 10); err != nil || len(due) > 0 || !next.IsZero() {
		t.Errorf("due are %v, %v, %v", due, next, err)
	}
	if listed, _, err := s.Find(Unclosed(), Parked, 10); err != nil || len(listed) != 1 {
		t.Errorf("listed are %+v, %v", listed, err)
	}
	if known, err := s.Attempted(Ref{in.Ticket, "another"}, in.Run, "ops", ""); err != nil || !known {
		t.Errorf("another intent of the run does not know of it: %v", err)
	}

	if err := s.Again(in.Ref, "ops", "again"); err != nil {
		t.Fatal(err)
	}
	if err := s.Again(in.Ref, "ops", "more"); !errors.Is(err, ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
	verify(t, s)
	if old, err := s.Get(in.Ref); err != nil || old.Origin != Closed || old.Channels["ops"].Status != Discarded {
		t.Errorf("the old one is %+v, %v", old, err)
	}
	again := Ref{in.Ticket, "again"}
	got, err = s.Get(again)
	if d := got.Channels["ops"]; err != nil || got.Origin != Committed || got.After != in.ID || got.Key != in.Key || !d.AtMostOnce || !d.Lost ||
		d.Status != Pending || string(d.Body) != string(in.Channels["ops"].Body) || string(got.Content) != string(in.Content) {
		t.Errorf("the new one is %+v, %v", got, err)
	}
	if due, _, err := s.Due(time.Now(), 10); err != nil || len(due) != 1 || due[0].Ref != again {
		t.Errorf("due are %v, %v", due, err)
	}

	kept.Ref = again
	if err := errors.Join(s.Keep(kept), s.Decide(again, map[string]Status{"ops": Discarded})); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(again); err != nil || got.Origin != Closed || got.Content != nil {
		t.Errorf("after the decision it is %+v, %v", got, err)
	}
	verify(t, s)
}
