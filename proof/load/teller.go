// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"net/http"
	"time"
)

// tell goes straight through ticket after ticket on which people are told, as the tellers of all hosts do: whoever is first notifies and
// lets go, and each other one notifies too while it is not NOTIFIED yet, so that several hosts have the notification to send. It comes back
// to what it had before, and begins it anew if Redis has lost it.
func (w *worker) tell() {
	told := map[name]bool{}
	for w.pause(50*time.Millisecond, 300*time.Millisecond) {
		n := w.told()
		if w.chance(30) {
			n = w.known()
		} else if told[n] {
			continue
		}
		request, hold := w.request(n)
		r := w.insist(http.MethodPost, "/v1/claims", request, hold)
		if r.status == http.StatusOK {
			told[n] = true
		}
		if r.status != http.StatusCreated || r.Claim == nil || r.Ticket == nil {
			continue
		}
		h := &held{claim: *r.Claim, name: n, state: r.Ticket.State, run: r.Ticket.Run, next: r.Next}
		goesOn := h.state != "NOTIFYING" || told[n] || w.notify(h)
		for range 10 { // a flow has fewer steps
			if goesOn && h.state != "NOTIFYING" {
				goesOn = w.advance(h) && w.pause(10*time.Millisecond, 60*time.Millisecond)
			}
		}
		told[n] = told[n] || h.state == "NOTIFYING"
		if h.state == "NOTIFYING" && w.chance(40) { // while it is sent
			w.resolved(n)
		}
		if goesOn {
			w.release(h)
		}
	}
}
