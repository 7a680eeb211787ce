// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/proof/history"
)

// key is what receivers tell notifications apart by: a run of a ticket.
type key struct {
	ticket string
	run    int64
}

func (k key) String() string { return fmt.Sprintf("%s, run %d", k.ticket, k.run) }

// keyOf reads the header Idempotency-Key.
func keyOf(header string) (key, bool) {
	plain := strings.TrimSuffix(strings.TrimPrefix(header, `"`), `"`)
	run := int64(1)
	if name, after, ok := strings.Cut(plain, "~"); ok {
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil || n < 2 {
			return key{}, false
		}
		plain, run = name, n
	}
	asset, task, ok := strings.Cut(plain, "/")
	asset, err := url.PathUnescape(asset)
	return key{asset + "/" + task, run}, ok && err == nil && len(plain)+2 <= len(header)
}

// acceptance is a notification that was accepted: the first answer that said so.
type acceptance struct {
	*call
	told *notification
}

// accepted are the notifications that were accepted, in the order in which they were.
func (s *story) accepted() map[key]acceptance {
	all := map[key]acceptance{}
	for _, c := range s.calls {
		if t := c.out.Ticket; c.kind == toNotify && c.ok() && t != nil && t.Notification != nil {
			k := key{t.ID, t.Run}
			if was, ok := all[k]; !ok || c.came < was.came {
				all[k] = acceptance{c, t.Notification}
			}
		}
	}
	return all
}

// keys are the sendings of each key, in the order in which they began.
func (c *checker) keys() map[key][]sending {
	all := map[key][]sending{}
	for _, s := range c.sendings {
		k, ok := keyOf(s.Key)
		if !ok {
			c.violate("G9", "", []int{s.n}, "a notification came with the key %s", s.Key)
			continue
		}
		if s.Digest != "" && (s.Asset+"/"+s.Task != k.ticket || s.Run != k.run) {
			c.violate("G9", k.ticket, []int{s.n}, "a notification of %s/%s, run %d, came with the key of %s", s.Asset, s.Task, s.Run, k)
		}
		all[k] = append(all[k], s)
	}
	for _, some := range all {
		slices.SortStableFunc(some, func(a, b sending) int { return int(min(max(a.Begin-b.Begin, -1), 1)) })
	}
	return all
}

// delivery looks whether what was accepted arrived on each channel, with the same key and the same content (G9), and nothing else (G10).
func (c *checker) delivery() {
	came, accepted := c.keys(), c.accepted()
	for k, a := range accepted {
		for _, channel := range a.told.Channels {
			c.arrived(k, a, channel, came[k])
		}
	}
	for k, some := range came {
		c.sameContent(k, accepted[k], some)
	}
	c.superseded(came)
	for _, t := range c.lastRead() {
		if t.out.Ticket.State == notifying {
			c.violate("G9", t.ticket(), t.records(), "a ticket is never settled: %v", t.out.Ticket.Delivery)
		}
	}
}

// arrived looks for one sending that was answered well; on a channel that is at_most_once for one that was taken, and what was answered
// did not come back.
func (c *checker) arrived(k key, a acceptance, channel string, some []sending) {
	records := a.records()
	for _, s := range some {
		if s.Channel == channel && (arrived(s) || c.once(channel) && s.Status == 0 && s.Digest != "") {
			return
		}
		if s.Channel == channel {
			records = append(records, s.n)
		}
	}
	if c.decided(k, channel, a.sent, never, toDiscard, toSettle) {
		c.excuse("G9: an administrator decided")
		return
	}
	if c.refusedAtLast(a, channel, some) {
		c.excuse("G9: its receiver refused it for good")
		return
	}
	if c.bothLost(a) {
		c.excuse("G9: Redis' data and the accepting host were lost for ever")
		return
	}
	if c.reopened(a) {
		c.excuse("G9: an administrator reopened what Redis had lost")
		return
	}
	if c.once(channel) && c.keptForAPerson(k, channel) {
		c.excuse("G9: at_most_once, kept for a person")
		return
	}
	c.violate("G9", k.ticket, records, "accepted for run %d, and it never arrived on %s: %s", k.run, channel, a.call)
}

func (s *story) once(channel string) bool {
	return slices.ContainsFunc(s.setup.Channels, func(c history.Channel) bool { return c.Name == channel && c.AtMostOnce })
}

// timeout is for how long a sender waits for a channel's answer.
func (s *story) timeout(channel string) int64 {
	for _, c := range s.setup.Channels {
		if c.Name == channel {
			return c.TimeoutMS * int64(time.Millisecond)
		}
	}
	return 0
}

// keptForAPerson: does the ticket, or an outbox, say at last that the channel is parked?
func (s *story) keptForAPerson(k key, channel string) bool {
	for _, c := range s.calls {
		if !c.ok() || c.by != "final" {
			continue
		}
		if t := c.out.Ticket; t != nil && t.ID == k.ticket && t.Run == k.run && t.Delivery[channel].Status == "parked" {
			return true
		}
		for _, i := range c.out.Intents {
			if i.Ticket == k.ticket && i.Run == k.run && i.Channels[channel].Status == "parked" {
				return true
			}
		}
	}
	return false
}

// lastRead are the answers that told of each ticket last, after the faults.
func (s *story) lastRead() map[string]*call {
	all := map[string]*call{}
	for _, c := range s.calls {
		if c.kind == toRead && c.by == "final" && c.ok() && c.out.Ticket != nil {
			all[c.ticket()] = c
		}
	}
	return all
}

// sameContent: all that came under a key is the same to the byte on each channel, and is what was accepted.
func (c *checker) sameContent(k key, a acceptance, some []sending) {
	digests := map[string]sending{}
	for _, s := range some {
		if s.Digest == "" {
			continue
		}
		first, ok := digests[s.Channel]
		if !ok {
			digests[s.Channel] = s
			continue
		}
		if first.Digest != s.Digest {
			c.differs(k, []int{first.n, s.n}, first.Begin, s.at, fmt.Sprintf("on %s came %q, and then other bytes, %q", s.Channel, first.Title, s.Title))
			return
		}
	}
	if a.call != nil {
		for _, s := range digests {
			if !a.told.says(s) {
				c.differs(k, append(a.records(), s.n), s.Begin, a.came, fmt.Sprintf("accepted is %q, and on %s came %q, or another text", a.told.Title, s.Channel, s.Title))
				return
			}
		}
	}
	c.wanted(k, some)
}

// wanted: what comes is what somebody asked for before, and was not refused.
func (c *checker) wanted(k key, some []sending) {
	var asked []*call
	for _, one := range c.calls {
		if one.kind == toNotify && one.ticket() == k.ticket {
			asked = append(asked, one)
		}
	}
	if asked == nil {
		return // picket run had people told
	}
	for _, s := range some {
		if s.Digest != "" && !slices.ContainsFunc(asked, func(one *call) bool {
			gone := one.code == "TICKET_NOT_FOUND" && c.faults.lost(one.sent, one.came) // while it waited for the receipts
			return one.sent < s.Begin && one.in.told().says(s) && (one.ok() || one.unknown() || one.code == "TICKET_DAMAGED" || gone)
		}) {
			c.violate("G10", k.ticket, []int{s.n}, "run %d: on %s came %q, which nobody asked for, or only who was refused", k.run, s.Channel, s.Title)
			return
		}
	}
}

// differs tells of two contents under one key, unless Redis lost the first. (docs/redis.md: the work is done again)
func (c *checker) differs(k key, records []int, from, to int64, text string) {
	if c.faults.forgot(0, max(from, to)) {
		c.excuse("G9: Redis lost what was accepted, and it was accepted anew")
		return
	}
	c.violate("G9", k.ticket, records, "run %d: %s", k.run, text)
}
