// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// refusedAtLast: did its receiver refuse it for good, and an administrator begin a new run, or Redis lose the ticket, before somebody had it
// sent again?
func (s *story) refusedAtLast(a acceptance, channel string, some []sending) bool {
	var last sending
	for _, one := range some {
		if one.Channel == channel {
			last = one
		}
	}
	return refused(last) && (s.faults.lost(a.sent, never) || slices.ContainsFunc(s.calls, func(c *call) bool {
		return c.kind == toReopen && c.ticket() == a.ticket() && (c.ok() || c.unknown()) && c.came > last.Begin
	}))
}

// bothLost: is its host gone for good, and did Redis lose data? That "is more than it survives". (DESIGN, G9)
func (s *story) bothLost(a acceptance) bool {
	return s.faults.lost(a.sent, never) && slices.ContainsFunc(s.faults, func(f *fault) bool { return f.name == forGood && f.target == a.host })
}

// decided: was an administrator's call about the channel in this run under way in this time?
func (s *story) decided(k key, channel string, from, to int64, kinds ...string) bool {
	return slices.ContainsFunc(s.calls, func(c *call) bool {
		return slices.Contains(kinds, c.kind) && c.ticket() == k.ticket && c.sent <= to && c.came >= from && s.concerns(c, k.run, channel)
	})
}

// concerns: may an administrator's call be about a channel in a run, as its answer tells? When Redis lost data it may be about what an
// outbox alone has, and the ticket may be another. One who settles says that an attempt arrived.
func (s *story) concerns(c *call, run int64, channel string) bool {
	t := c.out.Ticket
	switch {
	case c.in.Channel != "" && c.in.Channel != channel:
		return false
	case !c.ok() || s.faults.lost(0, c.came):
		return c.ok() || c.unknown()
	case t == nil || t.Run != run:
		return false
	}
	d := t.Delivery[channel]
	switch c.kind {
	case toDiscard:
		return d.Status == "discarded"
	case toSettle:
		return d.Status == "sent" && d.Attempts > 0
	}
	return d.Status == "pending" || s.faults.struck(c.host, c.sent, c.came) // its answer may be of later
}

// reopened: did an administrator begin a new run when Redis had lost that this one was to be told? It is superseded then. (outbox/doc.go)
func (s *story) reopened(a acceptance) bool {
	return slices.ContainsFunc(s.calls, func(c *call) bool {
		return c.kind == toReopen && c.ticket() == a.ticket() && (c.ok() || c.unknown()) && s.faults.forgot(a.sent, c.came)
	})
}
