// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model says in memory, without indexes, what the outbox must answer.
type model struct {
	intents map[string]*Intent
	closed  []string // in the order of Shut
}

func (m *model) find(ref Ref) *Intent {
	if in := m.intents[ref.ID]; in != nil && in.Ticket == ref.Ticket {
		return in
	}
	return nil
}

func (m *model) add(in Intent, origin Origin) {
	in.Origin = origin
	in.Channels = maps.Clone(in.Channels)
	m.intents[in.ID] = &in
}

// due is what Due must list by now, in its order.
func (m *model) due() (all []Due) {
	for _, in := range m.intents {
		for name, d := range in.Channels {
			unsettled := d.Status == Pending || d.Status == Sending || d.Status == Unknown
			sendable := in.Origin == Committed || in.Origin == Adopted
			if sendable && (unsettled || !d.Recorded) || in.Origin == Closed && d.Status == Sent && !d.Recorded {
				all = append(all, Due{Ref: in.Ref, Channel: name, At: d.Due})
			}
		}
	}
	slices.SortFunc(all, func(a, b Due) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Channel, b.Channel))
	})
	return all
}

// listed are the intents that pick chooses, as listings show them, oldest first.
func (m *model) listed(pick func(*Intent) bool) (all []Intent) {
	for _, in := range m.intents {
		if !pick(in) {
			continue
		}
		in := *in
		in.Content = nil
		in.Channels = maps.Clone(in.Channels)
		for name, d := range in.Channels {
			d.Body = nil
			in.Channels[name] = d
		}
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b Intent) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all
}

// change is what Begin, Record, Recorded and Postpone have in common.
func (m *model) change(ref Ref, channel string, fn func(*Intent, *Delivery) error) error {
	in := m.find(ref)
	if in == nil {
		return ErrNotFound
	}
	d, ok := in.Channels[channel]
	if !ok {
		return ErrNotFound
	}
	err := fn(in, &d)
	in.Channels[channel] = d
	return err
}

// revive is Adopt of what is closed.
func (m *model) revive(has *Intent, in Intent) {
	for name, d := range in.Channels {
		if was, ok := has.Channels[name]; ok {
			was.Due, was.Body = d.Due, d.Body
			d = was
		}
		if d.Status == Pending || d.Status == Sending || d.Status == Unknown || d.Status == Parked {
			has.Channels[name], has.Content, has.Origin = d, in.Content, Adopted
		}
	}
	if has.Origin == Closed {
		return
	}
	for name, d := range has.Channels {
		if _, given := in.Channels[name]; given || d.Status != Pending && d.Status != Sending && d.Status != Unknown {
			continue
		}
		delete(has.Channels, name)
		if d.AtMostOnce && d.Status != Pending {
			d.Status, d.Recorded = Parked, true
			has.Channels[name] = d
		}
	}
	if len(m.closed) == 1 {
		m.closed = nil
	} else {
		m.closed = slices.DeleteFunc(m.closed, func(id string) bool { return id == has.ID })
	}
}

var errRefused = errors.New("refused")

// agree compares errors by what callers tell apart.
func agree(t *rapid.T, got, want error) {
	t.Helper()
	if (got == nil) != (want == nil) || errors.Is(want, ErrNotFound) != errors.Is(got, ErrNotFound) {
		t.Fatalf("it says %v and should say %v", got, want)
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	base := time.Unix(1_700_000_000, 0).UTC()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		start := func() *Store {
			s, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.db.NoSync = true // nothing crashes here
			return s
		}
		s := start()
		defer func() { _ = s.Close() }()
		m := &model{intents: map[string]*Intent{}}

		tickets := rapid.SampledFrom([]string{"web-01/w48", "web-01/w4", "2001:db8::1/a"})
		ids := rapid.SampledFrom([]string{"A", "AB", "B", "C"})
		channels := rapid.SampledFrom([]string{"a", "ab", "b"})
		times := rapid.Map(rapid.IntRange(0, 5), func(i int) time.Time { return base.Add(time.Duration(i) * time.Second) })
		statuses := rapid.SampledFrom([]Status{Pending, Unknown, Sent, Dead, Parked, Discarded})
		refs := rapid.Custom(func(t *rapid.T) Ref {
			id := ids.Draw(t, "id")
			if in := m.intents[id]; in != nil && rapid.IntRange(0, 9).Draw(t, "crossed") > 0 {
				return in.Ref
			}
			return Ref{Ticket: tickets.Draw(t, "ticket"), ID: id}
		})
		// spots are channels of intents, most of them of such as are there.
		spots := func(t *rapid.T) (Ref, string) {
			ref := refs.Draw(t, "ref")
			if in := m.intents[ref.ID]; in != nil && len(in.Channels) > 0 && rapid.IntRange(0, 9).Draw(t, "strange") > 0 {
				return ref, rapid.SampledFrom(slices.Sorted(maps.Keys(in.Channels))).Draw(t, "channel")
			}
			return ref, channels.Draw(t, "channel")
		}
		intents := rapid.Custom(func(t *rapid.T) Intent {
			in := Intent{
				Ref: Ref{Ticket: tickets.Draw(t, "ticket"), ID: ids.Draw(t, "id")}, Asset: "a", Task: "t",
				Run: rapid.Int64Range(1, 2).Draw(t, "run"), Key: "k", At: times.Draw(t, "at"), Severity: "low",
				Content: rapid.SliceOfN(rapid.Byte(), 1, 9000).Draw(t, "content"), Token: 1, Nonce: "n", Agent: "g",
				Channels: map[string]Delivery{},
			}
			for _, name := range rapid.SliceOfDistinct(channels, rapid.ID[string]).Draw(t, "channels") {
				d := Delivery{
					Type: "log", AtMostOnce: rapid.Bool().Draw(t, "once"), Status: Pending, Due: times.Draw(t, "due"),
					Body: rapid.SliceOfN(rapid.Byte(), 1, 3000).Draw(t, "body"),
				}
				if rapid.IntRange(0, 5).Draw(t, "settled") == 0 {
					d.Status, d.Recorded = statuses.Draw(t, "status"), true
				}
				in.Channels[name] = d
			}
			return in
		})

		t.Repeat(map[string]func(*rapid.T){
			"Stage": func(t *rapid.T) {
				in := intents.Draw(t, "intent")
				var want error
				if m.intents[in.ID] != nil {
					want = errRefused
				}
				agree(t, s.Stage(in), want)
				if want == nil {
					m.add(in, Staged)
				}
			},
			"Adopt": func(t *rapid.T) {
				in := intents.Draw(t, "intent")
				has := m.intents[in.ID]
				var want error
				if has != nil && has.Ticket != in.Ticket {
					want = errRefused
				}
				agree(t, s.Adopt(in), want)
				switch {
				case has == nil:
					m.add(in, Adopted)
				case want == nil && has.Origin == Staged:
					has.Origin = Committed
				case want == nil && has.Origin == Closed:
					m.revive(has, in)
				}
			},
			"Commit": func(t *rapid.T) {
				ref := refs.Draw(t, "ref")
				in := m.find(ref)
				if in == nil {
					agree(t, s.Commit(ref), ErrNotFound)
					return
				}
				agree(t, s.Commit(ref), nil)
				if in.Origin == Staged {
					in.Origin = Committed
				}
			},
			"Discard": func(t *rapid.T) {
				ref := refs.Draw(t, "ref")
				agree(t, s.Drop(ref), nil)
				if in := m.find(ref); in != nil && in.Origin == Staged {
					delete(m.intents, in.ID)
				}
			},
			"Shut": func(t *rapid.T) {
				ref := refs.Draw(t, "ref")
				in := m.find(ref)
				if in == nil {
					agree(t, s.Shut(ref), ErrNotFound)
					return
				}
				var recorded []string
				if len(in.Channels) > 0 && rapid.Bool().Draw(t, "recorded") {
					name := rapid.SampledFrom(slices.Sorted(maps.Keys(in.Channels))).Draw(t, "channel")
					recorded = append(recorded, name)
					d := in.Channels[name]
					d.Recorded = d.Recorded || d.Status == Sent || d.Status == Dead || d.Status == Parked || d.Status == Discarded
					in.Channels[name] = d
				}
				agree(t, s.Shut(ref, recorded...), nil)
				if in.Origin == Closed {
					return
				}
				in.Origin, in.Content, in.Token, in.Nonce, in.Agent = Closed, nil, 0, "", ""
				for name, d := range in.Channels {
					d.Body = nil
					in.Channels[name] = d
				}
				m.closed = append(m.closed, in.ID)
			},
			"Begin": func(t *rapid.T) {
				ref, channel := spots(t)
				number := rapid.IntRange(1, 5).Draw(t, "number")
				agree(t, s.Begin(ref, channel, number), m.change(ref, channel, func(in *Intent, d *Delivery) error {
					if (in.Origin != Committed && in.Origin != Adopted) || d.Status != Pending {
						return errRefused
					}
					d.Status, d.Attempts = Sending, number
					return nil
				}))
			},
			"Record": func(t *rapid.T) {
				ref, channel := spots(t)
				o := Outcome{
					Ref: ref, Channel: channel, Number: rapid.IntRange(0, 5).Draw(t, "number"),
					Status: statuses.Draw(t, "status"), At: times.Draw(t, "at"), Error: rapid.SampledFrom([]string{"", "503"}).Draw(t, "error"),
				}
				due := times.Draw(t, "due")
				recorded := rapid.Bool().Draw(t, "recorded") && o.Status.Settled()
				agree(t, s.Record(o, due, recorded), m.change(o.Ref, o.Channel, func(_ *Intent, d *Delivery) error {
					settled := d.Status == Sent || d.Status == Dead || d.Status == Parked || d.Status == Discarded
					if d.Status == Sent && o.Status != Sent || settled && (o.Status == Pending || o.Status == Unknown) {
						return nil
					}
					d.Recorded = recorded || d.Status == o.Status && d.Recorded
					d.Status, d.Attempts, d.At, d.Error, d.Due = o.Status, max(d.Attempts, o.Number), o.At, o.Error, due
					return nil
				}))
			},
			"Recorded": func(t *rapid.T) {
				ref, channel := spots(t)
				agree(t, s.Recorded(ref, channel), m.change(ref, channel, func(_ *Intent, d *Delivery) error {
					if d.Status == Sent || d.Status == Dead || d.Status == Parked || d.Status == Discarded {
						d.Recorded = true
					}
					return nil
				}))
			},
			"Postpone": func(t *rapid.T) {
				ref, channel := spots(t)
				due, at := m.due(), times.Draw(t, "at")
				agree(t, s.Postpone(ref, channel, at), m.change(ref, channel, func(in *Intent, d *Delivery) error {
					if slices.ContainsFunc(due, func(x Due) bool { return x.Ref == in.Ref && x.Channel == channel }) {
						d.Due = at
					}
					return nil
				}))
			},
			"reopen": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = start()
			},
			"": func(t *rapid.T) { compare(t, s, m, base) },
		})
	})
}

// compare asks the outbox everything that the model knows.
func compare(t *rapid.T, s *Store, m *model, base time.Time) {
	t.Helper()
	verify(t, s)
	equal := func(what string, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is\n%+v, %v, and should be\n%+v", what, got, err, want)
		}
	}
	for id, in := range m.intents {
		got, err := s.Get(in.Ref)
		if !bytes.Equal(got.Content, in.Content) {
			t.Fatalf("the content of %s is %q", id, got.Content)
		}
		equal(id, got, *in, err)
	}
	for _, ticket := range []string{"web-01/w48", "web-01/w4", "2001:db8::1/a"} {
		want := m.listed(func(in *Intent) bool { return in.Ticket == ticket })
		got, err := s.Ticket(ticket)
		equal(ticket, got, want, err)
		for _, channel := range []string{"a", "ab", "b"} {
			for run := range int64(3) {
				has := slices.ContainsFunc(want, func(in Intent) bool { return in.Run == run && in.Channels[channel].Status == Sent })
				_, ok, err := s.Receipt(ticket, run, channel)
				equal("a receipt of "+ticket, ok, has, err)
			}
		}
	}
	var ready, staged []Intent
	for _, o := range []Origin{Staged, Committed, Adopted} {
		want := m.listed(func(in *Intent) bool { return in.Origin == o })
		got, err := s.List(o, 100)
		equal(string(o), got, want, err)
		if o == Staged {
			staged = want
		} else {
			ready = append(ready, want...)
		}
	}
	got, err := s.List("", 2)
	want := m.listed(func(in *Intent) bool { return in.Origin != Closed })
	equal("the list", got, want[:min(2, len(want))], err)
	var closed []string
	all, err := s.List(Closed, 100)
	for _, in := range all {
		closed = append(closed, in.ID)
	}
	equal("what is closed", closed, m.closed, err)

	stats := Stats{Staged: len(staged)}
	for _, in := range ready {
		left, parked := false, false
		for _, d := range in.Channels {
			left = left || !d.Status.Settled() || !d.Recorded
			parked = parked || d.Status == Parked
		}
		if parked && !left {
			continue
		}
		stats.Ready++
		if stats.Oldest.IsZero() || in.At.Before(stats.Oldest) {
			stats.Oldest = in.At
		}
	}
	equal("Stats", s.Stats(), stats, nil)

	dues := m.due()
	for i := range 6 {
		now := base.Add(time.Duration(i) * time.Second)
		for _, limit := range []int{2, 100} {
			n := 0
			for n < len(dues) && n < limit && !dues[n].At.After(now) {
				n++
			}
			var next time.Time
			if n < len(dues) {
				next = dues[n].At
			}
			got, gotNext, err := s.Due(now, limit)
			equal("what is due", got, append([]Due(nil), dues[:n]...), err)
			equal("the next", gotNext, next, nil)
		}
	}
}
