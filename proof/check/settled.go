// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"slices"
	"strings"
)

// settled looks how the notifications of each ticket ended: as it was read at last, and in its history. (G9)
func (c *checker) settled() {
	came := c.keys()
	for _, read := range c.lastRead() {
		c.ended(read, came)
	}
	for _, read := range c.histories {
		if !c.faults.lost(0, read.came) {
			c.follow(read, came)
		}
	}
}

// ended holds a ticket's state against what became of its channels: "NOTIFIED if every channel that was not discarded has its receipt, and
// at least one has; else FAILED" (DESIGN, section 4)
func (c *checker) ended(read *call, came map[key][]sending) {
	t := read.out.Ticket
	if t.Notification == nil || t.Damaged != "" {
		return
	}
	all := map[string]string{}
	for _, channel := range t.Notification.Channels {
		all[channel] = t.Delivery[channel].Status
		c.caused(read, key{t.ID, t.Run}, channel, all[channel], came)
	}
	if (t.State == notified || t.State == finished) && !reached(all) {
		c.violate("G9", t.ID, read.records(), "it is %s, and its channels are %v", t.State, all)
	}
	if t.State == failed && open(all) {
		c.violate("G9", t.ID, read.records(), "it is FAILED, and its channels are %v", all)
	}
}

// follow goes through the deliveries of a history, in which nothing was lost.
func (c *checker) follow(read *call, came map[key][]sending) {
	k, all := key{read.ticket(), 1}, map[string]string{}
	for _, e := range read.out.Events {
		wrong := func(text string) {
			c.violate("G9", k.ticket, read.records(), "event %d, %s %s from %s to %s, %q, with channels that are %v: %s", e.Seq, e.Event, e.Step, e.From,
				e.To, e.Reason, all, text)
		}
		was, now := all[e.Step], became(e)
		switch e.Event {
		case "reopened":
			k.run++
			clear(all)
		case "notified":
			if !reached(all) {
				wrong("not all that was not discarded has arrived, or nothing has")
			}
		case "failed":
			if e.From == notifying && (open(all) || reached(all)) {
				wrong("nothing was refused for good")
			}
		}
		if now == "" {
			continue
		}
		switch {
		case was == "sent" && now != "sent", was == "discarded" && now != "sent" && now != "discarded":
			wrong("it was settled before")
		case e.Event == "settled" && now == "sent" && !slices.Contains([]string{"unknown", "parked", "dead"}, was) && !strings.HasSuffix(e.Reason, received):
			wrong("it was not in question whether it had arrived")
		}
		all[e.Step] = now
		c.caused(read, k, e.Step, now, came)
	}
}

// received is the reason of a channel that is settled by a receipt, and not by a person.
const received = "it has a receipt"

// became is what a channel is after an event; nothing, if the event is about none of this run.
func became(e event) string {
	switch {
	case e.Event == "receipt" && !strings.HasPrefix(e.Reason, "of run "):
		return "sent"
	case e.Event == "attempt" && e.Reason == "":
		return "sending"
	case e.Event == "attempt", e.Event == "settled":
		status, _, _ := strings.Cut(e.Reason, ":")
		return status
	}
	return ""
}

// open: is a channel neither sent nor given up?
func open(all map[string]string) bool {
	for _, status := range all {
		if !slices.Contains([]string{"sent", "dead", "discarded"}, status) {
			return true
		}
	}
	return false
}

// reached: has each channel that was not discarded its receipt, and at least one?
func reached(all map[string]string) (one bool) {
	for _, status := range all {
		if status != "sent" && status != "discarded" {
			return false
		}
		one = one || status == "sent"
	}
	return one
}

// caused: what is settled was taken or refused by its receiver, or decided about by an administrator.
func (c *checker) caused(read *call, k key, channel, status string, came map[key][]sending) {
	answered := func(how func(sending) bool) bool {
		return slices.ContainsFunc(came[k], func(s sending) bool { return s.Channel == channel && how(s) })
	}
	switch {
	case status == "sent" && !answered(arrived) && !c.decided(k, channel, 0, never, toSettle):
		c.violate("G9", k.ticket, read.records(), "run %d on %s is sent, and its receiver did not take it", k.run, channel)
	case status == "dead" && !answered(refused):
		c.violate("G9", k.ticket, read.records(), "run %d on %s is dead, and its receiver did not refuse it for good", k.run, channel)
	case status == "discarded" && !c.decided(k, channel, 0, never, toDiscard):
		c.violate("G9", k.ticket, read.records(), "run %d on %s is discarded, and nobody did that", k.run, channel)
	}
}

// refused: was it refused for good? (docs/receiving.md)
func refused(s sending) bool {
	later := []int{
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests,
	}
	return s.Status >= 300 && s.Status < 500 && !slices.Contains(later, s.Status)
}
