// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// told is a ticket with its history.
type told struct {
	client.Ticket
	events []client.Event
}

// evidence is what a chaos over delivery has left behind.
type evidence struct {
	accepted []acceptance
	sent     []sending
	away     []span // of Redis
	channels []string
	tickets  map[string]told // by asset
}

// wrong names what must not be.
func (v *evidence) wrong() (all []string) {
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	came := map[string][]sending{}
	for _, s := range v.sent {
		came[s.channel+s.key] = append(came[s.channel+s.key], s)
	}
	titles := map[string]string{}
	for _, a := range v.accepted {
		key := keyOf(a.asset, a.run)
		if was, ok := titles[key]; ok && was != a.title {
			bad("%s: accepted are %q and %q", key, was, a.title)
		}
		titles[key] = a.title
		for _, channel := range v.channels {
			if len(came[channel+key]) == 0 {
				bad("%s: accepted, and never arrived on %s", key, channel)
			}
		}
	}
	written := map[string]bool{} // the keys of what became NOTIFYING
	for asset, ticket := range v.tickets {
		all = append(all, ticket.unfinished()...)
		for run := range ticket.Run {
			if ticket.ended("", run+1, func(e client.Event) bool { return e.Event == "notifying" }) != nil {
				written[keyOf(asset, run+1)] = true
			}
			for _, channel := range v.channels {
				key := keyOf(asset, run+1)
				all = append(all, v.afterTheEnd(&ticket, channel, run+1, came[channel+key])...)
			}
		}
	}
	for what, some := range came {
		slices.SortFunc(some, func(a, b sending) int { return a.begin.Compare(b.begin) })
		if !written[some[0].key] {
			bad("%s: it is on no ticket, and was sent", what)
		}
		for i, s := range some {
			if s.body != some[0].body || !strings.Contains(s.body, titles[s.key]) {
				bad("%s: accepted is %q, and the receiver got\n%s\nand\n%s", what, titles[s.key], some[0].body, s.body)
			}
			for _, next := range some[i+1:] {
				switch {
				case s.channel == once && s.status < http.StatusBadRequest:
					bad("%s: sent at most once by %s at %s, answered %d, and by %s at %s", what, s.host, s.begin, s.status, next.host, next.begin)
				case s.host != next.host && next.begin.Before(s.end) && !v.excused(s) && !v.excused(next):
					bad("%s: sent by %s from %s to %s, and by %s from %s", what, s.host, s.begin, s.end, next.host, next.begin)
				}
			}
		}
	}
	return all
}

// excused is what DESIGN leaves: one that its sender was held up with for longer than its lease can be, and one that was sent
// without a lease because Redis had answered nothing for 5 s.
func (v *evidence) excused(s sending) bool {
	return s.late() || slices.ContainsFunc(v.away, func(a span) bool {
		return a.end.Sub(a.begin) > 4*time.Second && s.begin.After(a.begin) && s.begin.Before(a.end.Add(sendTimeout+time.Second))
	})
}

// afterTheEnd names what was sent after the ticket said that it is sent, or began a new run.
func (v *evidence) afterTheEnd(t *told, channel string, run int64, came []sending) (all []string) {
	ends := []*client.Event{
		t.ended(channel, run, func(e client.Event) bool {
			return e.Event == "receipt" && e.Reason == "" || e.Event == "settled" && strings.HasPrefix(e.Reason, "sent")
		}),
		t.ended("", run, func(e client.Event) bool { return e.Event == "reopened" }),
	}
	for _, s := range came {
		for _, end := range ends {
			if end != nil && s.begin.After(end.At.Add(time.Millisecond)) && !v.excused(s) {
				all = append(all, fmt.Sprintf("%s on %s: %s at %s, and sent by %s at %s", s.key, channel, end.Event, end.At, s.host, s.begin))
			}
		}
	}
	return all
}

// ended is the first event of a run that is such a one, on a channel if that is not empty.
func (t *told) ended(channel string, run int64, such func(client.Event) bool) *client.Event {
	now := int64(1)
	for _, e := range t.events {
		if now == run && such(e) && (channel == "" || e.Step == channel) {
			return &e
		}
		if e.Event == "reopened" {
			now++
		}
	}
	return nil
}

// unfinished names what is not done on a ticket that was notified of in its last run.
func (t *told) unfinished() (all []string) {
	if t.Notification == nil {
		return nil
	}
	if t.State != client.StateNotified && t.State != client.StateFinished {
		all = append(all, fmt.Sprintf("%s is %s", t.ID, t.State))
	}
	for channel, d := range t.Delivery {
		if d.Status != string(outbox.Sent) {
			all = append(all, fmt.Sprintf("%s is %s on %s", t.ID, d.Status, channel))
		}
	}
	return all
}

// moved counts the requests that came from another host than the one before them under the same key.
func (v *evidence) moved() (n int) {
	last := map[string]string{}
	for _, s := range v.sent {
		if was, ok := last[s.channel+s.key]; ok && was != s.host {
			n++
		}
		last[s.channel+s.key] = s.host
	}
	return n
}

// good is a history without a fault: accepted on host a, a copy on host b, failed once, sent by b, and a new run.
func good() evidence {
	zero := time.Unix(1_800_000_000, 0)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	send := func(host, channel string, run int64, begin, end, status int) sending {
		return sending{
			host: host, channel: channel, key: keyOf("web-01", run), body: fmt.Sprintf("word %d", run),
			stamp: at(begin).Truncate(time.Second), begin: at(begin), end: at(end), status: status,
		}
	}
	event := func(ms int, name, channel string) client.Event {
		return client.Event{At: at(ms), Event: name, Step: channel, Host: "host-a"}
	}
	done := client.Delivery{Status: string(outbox.Sent)}
	return evidence{
		accepted: []acceptance{{"web-01", 1, "word 1"}, {"web-01", 1, "word 1"}, {"web-01", 2, "word 2"}},
		channels: []string{ops, once},
		sent: []sending{
			send("host-a", ops, 1, 1000, 1200, 500), send("host-b", ops, 1, 1300, 1500, 200), send("host-a", once, 1, 1000, 1100, 503),
			send("host-b", once, 1, 1400, 1500, 0), send("host-a", ops, 2, 3000, 3100, 200), send("host-a", once, 2, 3000, 3300, 200),
		},
		tickets: map[string]told{"web-01": {
			Ticket: client.Ticket{
				ID: "web-01/t1", State: client.StateFinished, Run: 2, Notification: &client.Notification{},
				Delivery: map[string]client.Delivery{ops: done, once: done},
			},
			events: []client.Event{
				event(900, "notifying", ""), event(1510, "receipt", ops), event(1600, "settled", once), event(2000, "reopened", ""),
				event(2900, "notifying", ""), event(3110, "receipt", ops), event(3310, "receipt", once),
			},
		}},
	}
}

func TestTheChaosCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	if v := good(); v.wrong() != nil {
		t.Fatalf("a good history is refused: %q", v.wrong())
	}
	later := func(v *evidence, i int, long time.Duration) *sending { // request i once more
		v.sent = append(v.sent, v.sent[i])
		s := &v.sent[len(v.sent)-1]
		s.host, s.stamp, s.begin, s.end = "host-c", s.stamp.Add(long), s.begin.Add(long), s.end.Add(long)
		return s
	}
	gone := func(v *evidence) { v.away = []span{{v.sent[0].begin.Add(-6 * time.Second), v.sent[0].begin}} }
	for name, c := range map[string]struct {
		spoil func(*evidence)
		says  string // empty: it is allowed
	}{
		"never arrived":     {func(v *evidence) { v.sent = v.sent[:5] }, "never arrived on once"},
		"two contents":      {func(v *evidence) { v.accepted[1].title = "another" }, "accepted are"},
		"other bytes":       {func(v *evidence) { v.sent[1].body = "word 1, again" }, "the receiver got"},
		"other words":       {func(v *evidence) { v.sent[4].body = "word 1" }, "accepted is \"word 2\""},
		"another key":       {func(v *evidence) { v.sent[1].key = keyOf("web-01", 3) }, "it is on no ticket"},
		"two at once":       {func(v *evidence) { later(v, 0, 100*time.Millisecond) }, "and by host-c"},
		"two, one held up":  {func(v *evidence) { s := later(v, 0, 100*time.Millisecond); s.stamp = s.stamp.Add(-sendTimeout) }, ""},
		"two without Redis": {func(v *evidence) { later(v, 0, 100*time.Millisecond); gone(v) }, ""},
		"two, away for short": {func(v *evidence) {
			later(v, 0, 100*time.Millisecond)
			gone(v)
			v.away[0].begin = v.away[0].end.Add(-time.Second)
		}, "and by host-c"},
		"after the receipt": {func(v *evidence) { later(v, 1, 250*time.Millisecond) }, "receipt at"},
		"superseded":        {func(v *evidence) { later(v, 0, 1200*time.Millisecond) }, "reopened at"},
		"twice, unknown":    {func(v *evidence) { later(v, 3, 50*time.Millisecond) }, "sent at most once"},
		"twice, accepted":   {func(v *evidence) { later(v, 5, 5*time.Millisecond) }, "sent at most once"},
		"not done":          {func(v *evidence) { x := v.tickets["web-01"]; x.State = client.StateNotifying; v.tickets["web-01"] = x }, "is NOTIFYING"},
		"no receipt":        {func(v *evidence) { v.tickets["web-01"].Delivery[ops] = client.Delivery{Status: client.DeliveryDead} }, "is dead on ops"},
	} {
		v := good()
		c.spoil(&v)
		wrong := v.wrong()
		if c.says == "" && wrong != nil || c.says != "" && !strings.Contains(strings.Join(wrong, "\n"), c.says) {
			t.Errorf("%s: the check says %q", name, wrong)
		}
	}
}
