// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"errors"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// TestAPersonDecidesAboutWhatRedisLost by the API as about all that is parked: it is listed, and the ticket that Redis does not know
// is answered as what was decided.
func TestAPersonDecidesAboutWhatRedisLost(t *testing.T) {
	t.Parallel()
	h := setup(t)
	box := h.server.config.Outbox.(*outbox.Store)
	ref := outbox.Ref{Ticket: "lost-01/t", ID: "in"}
	o := outbox.Outcome{Ref: ref, Channel: "ops", Number: 1, Status: outbox.Parked, At: time.Now(), Error: "not known"}
	must(t, errors.Join(box.Adopt(outbox.Intent{
		Ref: ref, Asset: "lost-01", Task: "t", Run: 1, Key: ref.Ticket, At: time.Now(), Content: []byte("{}"),
		Channels: map[string]outbox.Delivery{"ops": {Type: "log", AtMostOnce: true, Body: []byte("x")}},
	}), box.Keep(o)))
	lists := func(want int) {
		t.Helper()
		for _, status := range []string{"", "parked"} {
			if got, err := h.client.Outbox(t.Context(), status); err != nil || len(got.Intents) != want {
				t.Errorf("%q lists %+v, %v", status, got, err)
			}
		}
	}
	lists(1)
	got, err := h.client.Discard(t.Context(), "lost-01", "t", "", "by hand")
	if err != nil || got.State != client.StateInit || got.Steps == nil || got.Delivery["ops"].Status != client.DeliveryDiscarded {
		t.Errorf("got %+v, %v", got, err)
	}
	lists(0)
	_, err = h.client.Discard(t.Context(), "lost-01", "t", "", "by hand")
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Code != client.TicketNotFound {
		t.Errorf("again: %v", err)
	}
}
