// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestStage_CommitAndDiscardTouchOnlyTheirOwnIntent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mine, others := newIntent("web-01/w48"), newIntent("web-01/w48")
	for _, in := range []Intent{mine, others} {
		if err := s.Stage(in); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Get(others.Ref)
	if err != nil {
		t.Fatal(err)
	}
	crossed := Ref{Ticket: "web-02/w48", ID: others.ID}
	if err := s.Commit(crossed); !errors.Is(err, ErrNotFound) {
		t.Errorf("Commit of another ticket's id says %v", err)
	}
	if err := s.Drop(crossed); err != nil {
		t.Errorf("Discard of another ticket's id says %v", err)
	}
	if err := errors.Join(s.Commit(mine.Ref), s.Drop(mine.Ref)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(mine.Ref); err != nil || got.Origin != Committed {
		t.Errorf("the own intent is %s, %v: a committed one must bear Discard", got.Origin, err)
	}
	if after, err := s.Get(others.Ref); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("the other intent was\n%+v and is\n%+v, %v", before, after, err)
	}
	if err := s.Drop(others.Ref); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(others.Ref); !errors.Is(err, ErrNotFound) {
		t.Errorf("after Discard, Get says %v", err)
	}
	if all, err := s.Ticket("web-01/w48"); err != nil || len(all) != 1 || all[0].ID != mine.ID {
		t.Errorf("the ticket has %+v, %v", all, err)
	}
}

func TestStage_WantsAFreshID(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	if err := s.Stage(in); err != nil {
		t.Fatal(err)
	}
	again := in
	again.Content = []byte("other")
	if err := s.Stage(again); err == nil {
		t.Error("an id was taken twice")
	}
	if got, err := s.Get(in.Ref); err != nil || string(got.Content) != string(in.Content) {
		t.Errorf("the content is %s, %v", got.Content, err)
	}
}

func TestStage_RefusesWhatKeysCannotHold(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, change := range map[string]func(*Intent){
		"no id":             func(in *Intent) { in.ID = "" },
		"zero byte in id":   func(in *Intent) { in.ID = "a\x00b" },
		"no ticket":         func(in *Intent) { in.Ticket = "" },
		"zero in ticket":    func(in *Intent) { in.Ticket = "a\x00/b" },
		"nameless channel":  func(in *Intent) { in.Channels[""] = Delivery{} },
		"zero in a channel": func(in *Intent) { in.Channels["a\x00b"] = Delivery{} },
		"id beyond a key":   func(in *Intent) { in.ID = strings.Repeat("x", 40_000) },
	} {
		in := newIntent("web-01/w48")
		change(&in)
		if s.Stage(in) == nil || s.Adopt(in) == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if got := s.Stats(); got != (Stats{}) {
		t.Errorf("Stats says %+v", got)
	}
}

func TestAdopt_LeavesWhatItHas(t *testing.T) {
	t.Parallel()
	s := setup(t)
	staged, closed, fresh, superseded := newIntent("web-01/w48"), newIntent("web-01/w49"), newIntent("web-01/w50"), newIntent("web-01/w51")
	if err := errors.Join(s.Stage(staged), s.Stage(closed), s.Commit(closed.Ref),
		s.Record(Outcome{Ref: closed.Ref, Channel: "ops", Number: 1, Status: Dead}, time.Now(), true), s.Shut(closed.Ref),
		s.Adopt(superseded), s.Shut(superseded.Ref)); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[*Intent]Origin{&staged: Committed, &closed: Closed, &fresh: Adopted, &superseded: Adopted} {
		for range 2 {
			if err := s.Adopt(*in); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(in.Ref); err != nil || got.Origin != want {
				t.Errorf("after Adopt %s is %s and not %s, %v", in.Ticket, got.Origin, want, err)
			} else if want != Closed && (string(got.Content) != string(in.Content) || string(got.Channels["ops"].Body) != string(in.Channels["ops"].Body)) {
				t.Errorf("after Adopt %s has not what is to be sent", in.Ticket)
			}
		}
	}
	stolen := fresh
	stolen.Ticket = "web-02/w48"
	if s.Adopt(stolen) == nil {
		t.Error("an id was adopted for two tickets")
	}
}

func TestShut_KeepsWhatWasSentUntilItIsOnTheTicket(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	in.Channels["mail"] = in.Channels["ops"]
	in.Channels["late"] = in.Channels["ops"]
	at := time.Unix(1_700_000_000, 0)
	if err := errors.Join(
		s.Adopt(in),
		s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: at}, at, false),
		s.Shut(in.Ref),
		s.Shut(in.Ref),
		s.Commit(in.Ref),
	); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(in.Ref)
	if err != nil || got.Origin != Closed || got.Content != nil || got.Nonce != "" || got.Channels["ops"].Body != nil {
		t.Errorf("a closed intent still has %+v, %v", got, err)
	}
	dues := func(want ...string) {
		t.Helper()
		due, _, err := s.Due(time.Now().Add(time.Hour), 10)
		var names []string
		for _, d := range due {
			names = append(names, d.Channel)
		}
		if err != nil || !reflect.DeepEqual(names, want) {
			t.Errorf("due are %v and not %v, %v", names, want, err)
		}
	}
	dues("ops")
	// The send of another channel was under way when the intent was closed.
	late := Outcome{Ref: in.Ref, Channel: "late", Number: 1, Status: Sent, At: at}
	failed := Outcome{Ref: in.Ref, Channel: "mail", Number: 1, Status: Pending, At: at, Error: "503"}
	if err := errors.Join(s.Record(late, at.Add(time.Second), false), s.Record(failed, at, false), s.Recorded(in.Ref, "ops")); err != nil {
		t.Fatal(err)
	}
	dues("late")
	if err := s.Recorded(in.Ref, "late"); err != nil {
		t.Fatal(err)
	}
	dues()
	for channel, want := range map[string]bool{"ops": true, "late": true, "mail": false, "other": false} {
		r, ok, err := s.Receipt("web-01/w48", 1, channel)
		if err != nil || ok != want || ok && (r.Ref != in.Ref || r.Key != in.Key || r.Run != 1 || r.Channel != channel || !r.At.Equal(at)) {
			t.Errorf("the receipt of %s is %+v, %v, %v", channel, r, ok, err)
		}
	}
	if _, ok, err := s.Receipt("web-01/w48", 2, "ops"); ok || err != nil {
		t.Errorf("there is a receipt of another run, %v", err)
	}
}

func TestUnknownIntentsAndChannelsAreNotFound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	if err := s.Adopt(in); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []Ref{{}, {Ticket: "web-01/w48", ID: "?"}, {Ticket: "web-02/w48", ID: in.ID}} {
		_, get := s.Get(ref)
		for call, err := range map[string]error{
			"Get": get, "Commit": s.Commit(ref), "Shut": s.Shut(ref), "Begin": s.Begin(ref, "ops", 1),
			"Record":   s.Record(Outcome{Ref: ref, Channel: "ops", Status: Sent}, time.Now(), true),
			"Recorded": s.Recorded(ref, "ops"), "Postpone": s.Postpone(ref, "ops", time.Now()),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s of %+v says %v", call, ref, err)
			}
		}
	}
	if err := s.Recorded(in.Ref, "fax"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown channel is answered with %v", err)
	}
}

func TestList_OldestFirstWithoutBodies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	base := time.Unix(1_700_000_000, 0)
	var all []Intent
	for i := range 9 {
		in := newIntent("web-01/w48")
		in.At = base.Add(time.Duration(i) * time.Second)
		all = append(all, in)
		var err error
		switch i % 3 {
		case 0:
			err = s.Stage(in)
		case 1:
			err = errors.Join(s.Stage(in), s.Commit(in.Ref))
		case 2:
			err = s.Adopt(in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Shut(all[8].Ref); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		origin Origin
		limit  int
		want   []int
	}{
		{"", 100, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"", 3, []int{0, 1, 2}},
		{"", 0, nil},
		{Staged, 100, []int{0, 3, 6}},
		{Committed, 2, []int{1, 4}},
		{Adopted, 100, []int{2, 5}},
		{Closed, 100, []int{8}},
	} {
		got, err := s.List(c.origin, c.limit)
		if err != nil || len(got) != len(c.want) {
			t.Fatalf("List(%q, %d) has %d, %v", c.origin, c.limit, len(got), err)
		}
		for i, in := range got {
			if in.ID != all[c.want[i]].ID || in.Content != nil || in.Channels["ops"].Body != nil || in.Channels["ops"].Type != "webhook" {
				t.Errorf("List(%q, %d) has %+v at %d", c.origin, c.limit, in, i)
			}
		}
	}
	if got := s.Stats(); got.Staged != 3 || got.Ready != 5 || !got.Oldest.Equal(all[1].At) {
		t.Errorf("Stats says %+v", got)
	}
}

func TestFind_FiltersBeforeItCounts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 8 {
		in := newIntent("web-01/w48")
		must(s.Adopt(in))
		status := []Status{Sent, Sent, Sent, Parked}[i%4]
		must(s.Record(Outcome{Ref: in.Ref, Channel: "ops", Status: status, At: time.Now()}, time.Now(), true))
		if i < 6 {
			must(s.Shut(in.Ref))
		}
	}
	every := append(Unclosed(), Closed)
	for _, c := range []struct {
		origins []Origin
		status  Status
		limit   int
		want    int
		more    bool
	}{
		{[]Origin{Closed}, Parked, 1, 1, false},
		{Unclosed(), Parked, 1, 1, false},
		{every, Parked, 2, 2, false},
		{every, Parked, 1, 1, true},
		{every, Dead, 1, 0, false},
		{every, "", 8, 8, false},
		{every, "", 7, 7, true},
	} {
		got, more, err := s.Find(c.origins, c.status, c.limit)
		if err != nil || len(got) != c.want || more != c.more {
			t.Errorf("Find(%v, %q, %d) has %d, more %v, %v", c.origins, c.status, c.limit, len(got), more, err)
		}
		for _, in := range got {
			if c.status != "" && in.Channels["ops"].Status != c.status {
				t.Errorf("Find(%v, %q) has %+v", c.origins, c.status, in)
			}
		}
	}
}
