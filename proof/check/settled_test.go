// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
)

// left is the ticket in its last state, as it is read after the faults.
func (w *world) left(state, ops, once string) {
	t := w.tickets["web/t1"]
	t.State, t.Delivery = state, map[string]delivery{"ops": {Status: ops, Attempts: 1}, "once": {Status: once, Attempts: 1}}
	w.final()
}

func TestHowATicketEndsIsHowItsChannelsDo(t *testing.T) {
	t.Parallel()
	ends := func(state, ops, once string, more ...func(*world)) func(*world) {
		return func(w *world) {
			told(w)
			for _, one := range more {
				one(w)
			}
			w.send("host-b", "ops", "web/t1", http.StatusOK)
			w.send("host-b", "once", "web/t1", http.StatusOK)
			w.left(state, ops, once)
		}
	}
	refuses := func(status int) func(*world) { return func(w *world) { w.sent("host-b", "ops", 0, status) } }
	discards := func(w *world) { w.decide("discard", "ops", "ops", "discarded", 0) }
	judge(t, map[string]spoilt{
		"sent":                       {play: ends(finished, "sent", "sent")},
		"NOTIFIED":                   {play: ends(notified, "sent", "sent")},
		"FAILED, and a late receipt": {play: ends(failed, "sent", "sent", refuses(410))},
		"one is pending":             {play: ends(finished, "sent", "pending"), broken: "G9", says: "it is FINISHED"},
		"one is dead":                {play: ends(notified, "dead", "sent", refuses(410)), broken: "G9", says: "it is NOTIFIED"},
		"dead":                       {play: ends(failed, "dead", "sent", refuses(302))},
		"dead, and it was busy":      {play: ends(failed, "dead", "sent", refuses(429)), broken: "G9", says: "did not refuse it for good"},
		"dead, and it failed":        {play: ends(failed, "dead", "sent", refuses(500)), broken: "G9", says: "did not refuse it for good"},
		"FAILED too early":           {play: ends(failed, "dead", "sending", refuses(404)), broken: "G9", says: "it is FAILED"},
		"discarded":                  {play: ends(finished, "discarded", "sent", discards)},
		"discarded by nobody":        {play: ends(finished, "discarded", "sent"), broken: "G9", says: "nobody did that"},
		"sent, and not taken": {play: func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 302)
			w.send("host-b", "once", "web/t1", http.StatusOK)
			w.left(finished, "sent", "sent")
		}, broken: "G9", says: "did not take it"},
	})
}

func TestAHistoryTellsHowChannelsAreSettled(t *testing.T) {
	t.Parallel()
	// tells is a history of deliveries alone; what is sent, and by whom it is decided, is known.
	tells := func(events ...event) func(*world) {
		return func(w *world) {
			told(w)
			w.sent("host-b", "ops", 0, 410)
			w.decide("settle", "ops", "ops", "sent", 1)
			w.decide("discard", "once", "once", "discarded", 0)
			both(w)
			all := []event{
				{Event: "claimed", To: initial},
				{Event: "step", Step: "online", From: initial, To: online},
				{Event: "step", Step: "vuln", From: online, To: examined},
				{Event: "step", Step: "assess", From: examined, To: risky},
				{Event: "notifying", From: risky, To: notifying},
			}
			for _, e := range events {
				if e.From == "" {
					e.From, e.To = notifying, notifying
				}
				all = append(all, e)
			}
			for i := range all {
				all[i].Seq, all[i].Token = int64(i+1), w.token
			}
			w.ask("host-a", "GET", "/v1/tickets/web/t1/history", nil, func() (int, any) { return http.StatusOK, dict{"events": all} })
		}
	}
	attempt := func(channel, reason string) event { return event{Event: "attempt", Step: channel, Reason: reason} }
	settled := func(channel, reason string) event { return event{Event: "settled", Step: channel, Reason: reason} }
	receipt := func(channel string) event { return event{Event: "receipt", Step: channel} }
	ends := func(as, state string) event { return event{Event: as, From: notifying, To: state} }
	again := event{Event: "notifying", From: failed, To: notifying, Reason: "retry: so it is"}
	const settledBy = "sent: so it is"
	judge(t, map[string]spoilt{
		"sent":             {play: tells(attempt("ops", ""), receipt("ops"), attempt("once", ""), receipt("once"), ends("notified", notified))},
		"one is not":       {play: tells(attempt("ops", ""), receipt("ops"), attempt("once", ""), ends("notified", notified)), broken: "G9", says: "has arrived"},
		"FAILED, all sent": {play: tells(receipt("ops"), receipt("once"), ends("failed", failed)), broken: "G9", says: "nothing was refused"},
		"FAILED too early": {play: tells(settled("ops", "dead: HTTP 410"), attempt("once", ""), ends("failed", failed)), broken: "G9", says: "nothing was refused"},
		"dead":             {play: tells(receipt("once"), settled("ops", "dead: HTTP 410"), ends("failed", failed))},
		"dead, and again": {play: tells(receipt("once"), settled("ops", "dead: HTTP 410"), ends("failed", failed), again, attempt("ops", ""), receipt("ops"),
			ends("notified", notified))},
		"all discarded":               {play: tells(settled("once", "discarded: so it is"), settled("ops", "discarded: so it is"), ends("failed", failed)), broken: "G9", says: "nobody did that"},
		"dead, and nobody refused it": {play: tells(settled("once", "dead: HTTP 429"), receipt("ops"), ends("failed", failed)), broken: "G9", says: "did not refuse it"},
		"settled, in doubt":           {play: tells(attempt("ops", ""), attempt("ops", "unknown: no answer"), settled("ops", settledBy))},
		"settled, when parked":        {play: tells(attempt("ops", ""), settled("ops", "parked"), settled("ops", settledBy))},
		"settled, by its receipt":     {play: tells(attempt("ops", ""), settled("ops", "sent: it has a receipt"))},
		"settled, while it is sent":   {play: tells(attempt("ops", ""), settled("ops", settledBy)), broken: "G9", says: "was not in question"},
		"settled, before":             {play: tells(settled("ops", settledBy)), broken: "G9", says: "was not in question"},
		"settled twice":               {play: tells(receipt("ops"), settled("ops", "discarded: so it is")), broken: "G9", says: "settled before"},
		"sent when it was discarded":  {play: tells(settled("once", "discarded: so it is"), attempt("once", "")), broken: "G9", says: "settled before"},
	})
}
