// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"net/http"
	"time"
)

// live goes on until the job drains.
func (w *worker) live() {
	for w.pause(50*time.Millisecond, 600*time.Millisecond) {
		switch n := w.rand.IntN(100); {
		case n < 48:
			w.work(w.shared())
		case n < 76:
			w.work(w.told())
		case n < 80:
			w.look(w.known())
		case n < 86:
			w.haunt()
		case n < 89:
			w.breakLock()
		case n < 92:
			w.resolved(w.known())
		default:
			if n := w.known(); w.reopen(n) {
				w.work(n)
			}
		}
	}
}

// work claims a ticket and goes on with it, until it is finished, or the claim has ended, or the worker has had enough of it.
func (w *worker) work(n name) {
	request, hold := w.request(n)
	r := w.insist(http.MethodPost, "/v1/claims", request, hold)
	switch {
	case r.status == http.StatusOK:
		w.passed(n)
		return
	case r.status != http.StatusCreated || r.Claim == nil || r.Ticket == nil:
		return
	}
	h := &held{claim: *r.Claim, name: n, state: r.Ticket.State, run: r.Ticket.Run, next: r.Next}
	defer w.attend(h)()
	if h.state == "NOTIFYING" && w.chance(60) && !w.notify(h) {
		return
	}
	for range 25 {
		if !w.pause(20*time.Millisecond, 400*time.Millisecond) {
			break
		}
		w.sit()
		if !w.act(h) {
			return
		}
	}
	w.release(h)
}
