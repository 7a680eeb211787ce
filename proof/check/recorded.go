// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"maps"
	"slices"
	"strings"
)

// recorded looks at the history that each ticket has at last: whether its events lead along the flow, one to the next, each written by the
// newest claim, and each accepted write among them once. (G3, G4, G5, G12)
func (c *checker) recorded() {
	for _, ticket := range slices.Sorted(maps.Keys(c.histories)) {
		read := c.histories[ticket]
		c.leadsOn(read)
		if !c.faults.lost(0, read.came) {
			c.joins(read)
			c.releases(read)
		}
	}
}

// leadsOn follows the events of a history.
func (c *checker) leadsOn(read *call) {
	state, token, steps := "", int64(0), map[string]bool{}
	for i, e := range read.out.Events {
		wrong := func(guarantee, text string) {
			c.violate(guarantee, read.ticket(), read.records(), "event %d, %s %s from %s to %s under token %d: %s", e.Seq, e.Event, e.Step, e.From, e.To, e.Token, text)
		}
		if e.Seq != int64(i+1) {
			wrong("G12", "its number is not the next")
		}
		if e.From != state && !(i == 0 && e.Event == "receipt") { // a receipt makes a ticket anew that Redis lost
			wrong("G4", "the state before it is "+state)
		}
		if !along(e) {
			wrong("G4", "the flow does not lead there")
		}
		byAgent := slices.Contains([]string{"claimed", "step", "failure", "released"}, e.Event) || e.Event == "notifying" && !retried(e)
		switch {
		case e.Event == "claimed" && e.Token <= token:
			wrong("G3", "the token before it is greater")
		case e.Event != "claimed" && byAgent && e.Token != token:
			wrong("G2", "the newest claim has another token")
		case e.Event == "claimed":
			token = e.Token
		case e.Event == "reopened":
			token, steps = max(token, e.Token), map[string]bool{}
		case e.Event == "step" && steps[e.Step+e.To]:
			wrong("G5", "it is recorded before")
		case e.Event == "step":
			steps[e.Step+e.To] = true
		}
		state = e.To
	}
}

// retried: is it an administrator who has a notification sent again?
func retried(e event) bool { return e.Event == "notifying" && strings.HasPrefix(e.Reason, "retry") }

// along: does the flow permit what an event says?
func along(e event) bool {
	switch e.Event {
	case "claimed":
		return e.From == e.To && !terminal(e.To) || e.From == "" && e.To == initial
	case "step":
		return leads(e.From, e.Step, e.To)
	case "notifying":
		return e.To == notifying && (leads(e.From, "notify", e.To) || e.From == notifying || e.From == failed)
	case "notified":
		return e.To == notified && (e.From == notifying || e.From == failed)
	case "finished":
		return e.To == finished && leads(e.From, "finish", e.To)
	case "failed": // in NOTIFYING the receivers have the last word, and no step has failed then
		return e.To == failed && !terminal(e.From) && (e.From != notifying || e.Step == "")
	case "reopened":
		return e.To == initial
	}
	return e.From == e.To
}

// joins holds the accepted writes of a ticket against its events: each one is there once.
func (c *checker) joins(read *call) {
	type write struct {
		event, step, to string
		token           int64
	}
	events, answers, open := map[write]int64{}, map[write][]*call{}, map[write]int64{}
	for _, e := range read.out.Events {
		w := write{e.Event, e.Step, e.To, e.Token}
		if retried(e) {
			continue
		}
		switch e.Event {
		case "failure", "failed":
			w.to = ""
		case "claimed", "notifying":
			w.to, w.step = "", ""
		case "step":
		default:
			continue
		}
		events[w] += max(e.Count, 1)
	}
	for _, one := range c.calls {
		g := c.byClaim[one.claimID]
		if one.ticket() != read.ticket() || g == nil || one.sent > read.sent || !one.ok() && !one.unknown() || one.out.Replayed {
			continue
		}
		w := write{step: one.in.Step, token: g.token}
		switch one.kind {
		case toStep:
			w.event, w.to = "step", one.in.State
		case toFail:
			w.event = "failure"
			if one.in.Final {
				w.event = "failed"
			}
		case toNotify:
			w.event = "notifying"
		default:
			continue
		}
		if one.ok() {
			answers[w] = append(answers[w], one)
		} else {
			open[w]++
		}
	}
	for w, some := range answers {
		if n := int64(len(some)); events[w] < n || events[w] > n+open[w] {
			records := read.records()
			for _, one := range some {
				records = append(records, one.records()...)
			}
			c.violate("G12", read.ticket(), records, "%s %s %s under token %d was accepted %d times, and is %d times in the history",
				w.event, w.step, w.to, w.token, n, events[w])
		}
	}
}

// releases: one that the audit says was written to the ticket is in its history.
func (c *checker) releases(read *call) {
	for _, a := range c.audits {
		f := a.Fields
		if f["PICKET_EVENT"] != "released" || f["PICKET_FROM"] == "" || f["PICKET_TICKET"] != read.ticket() || a.at >= read.sent {
			continue
		}
		if !slices.ContainsFunc(read.out.Events, func(e event) bool {
			return e.Event == "released" && e.Token == a.token()
		}) {
			c.violate("G12", read.ticket(), append(read.records(), a.n), "the release of token %s on %s is in the audit, and not in the history",
				f["PICKET_TOKEN"], a.Host)
		}
	}
}
