// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// superseded looks at each two sendings of a key on a channel, and at what was decided before each one. (G10)
func (c *checker) superseded(came map[key][]sending) {
	for k, some := range came {
		for i, a := range some {
			for _, b := range some[i+1:] {
				if a.Channel == b.Channel {
					c.pair(k, a, b)
				}
			}
			c.afterDecision(k, a)
		}
	}
}

// pair looks at a sending and one that began later.
func (c *checker) pair(k key, a, b sending) {
	atOnce := b.Begin < c.over(a)
	twice := c.once(a.Channel) && (arrived(a) || doubtful(a))
	leased := c.leased(a, b)
	if !atOnce && !arrived(a) && !twice && !leased {
		return
	}
	for _, w := range windows {
		if (w.once || !twice) && w.is(c.story, k, a, b) {
			c.excuse("G10: " + w.why)
			return
		}
	}
	how := "it was sent again when it had arrived"
	switch {
	case twice:
		how = "it was sent twice on a channel that is at_most_once"
	case atOnce:
		how = "it was sent twice at once"
	case leased:
		how = "it was sent again within the lease of an attempt of which nobody could know what became"
	}
	c.violate("G10", k.ticket, []int{a.n, b.n}, "run %d on %s: %s: by %s, answered %d, and by %s, answered %d", k.run, a.Channel, how,
		a.Host, a.Status, b.Host, b.Status)
}

// leased: did a sending begin while another host's attempt had its lease, whose daemon was frozen and could tell nobody what became of it?
func (s *story) leased(a, b sending) bool {
	return a.Host != b.Host && a.Status == 0 && b.Begin-a.Begin < s.timeout(a.Channel)+beyond-begun &&
		slices.ContainsFunc(s.faults, func(f *fault) bool {
			frozen := f.target == a.Host && strings.HasPrefix(f.name, "daemon freezes") && f.end >= b.Begin
			return frozen && f.begin+int64(time.Second) <= a.at // it was not answered, nor hung up on, before it froze
		})
}

// afterDecision looks for what was sent after an administrator's decision against it.
func (c *checker) afterDecision(k key, s sending) {
	for _, d := range c.calls {
		t := d.out.Ticket
		if d.ticket() != k.ticket || !d.ok() || t == nil || s.Begin <= d.came+begun {
			continue
		}
		switch {
		case d.kind == toReopen && t.Run > k.run:
		case (d.kind == toDiscard || d.kind == toSettle) && t.Run == k.run && decides(d, s.Channel):
		default:
			continue
		}
		after := sending{at: d.came, n: d.m, Sending: s.Sending}
		after.Begin, after.Status = d.came, 0
		if i := slices.IndexFunc(windows, func(w exception) bool { return w.decided && w.is(c.story, k, after, s) }); i >= 0 {
			c.excuse("G10: " + windows[i].why)
			continue
		}
		c.violate("G10", k.ticket, append(d.records(), s.n), "run %d on %s: sent by %s after this: %s", k.run, s.Channel, s.Host, d)
	}
}

// decides: is a channel among those that a decision is about?
func decides(d *call, channel string) bool {
	if d.in.Channel != "" {
		return d.in.Channel == channel
	}
	status := d.out.Ticket.Delivery[channel].Status
	return status == "discarded" || status == "sent"
}

func arrived(s sending) bool { return s.Status >= 200 && s.Status < 300 }

// doubtful: may it have been taken, for all that its sender was told? (docs/receiving.md)
func doubtful(s sending) bool {
	return s.Status == 0 || s.Status == http.StatusConflict || s.Status >= 500 && s.Status != http.StatusServiceUnavailable
}
