// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// What refused is the reason of FAILED, and not what the assessment found.
func TestTheReasonOfFailedIsWhatRefused(t *testing.T) {
	t.Parallel()
	for want, delivery := range map[string]map[string]client.Delivery{
		"people were not told (ops: dead: HTTP 400 from https://h)":          {"ops": {Status: client.DeliveryDead, Error: "HTTP 400 from https://h"}},
		"not all were told (mail: sent; ops: dead: HTTP 400 from https://h)": {"ops": {Status: client.DeliveryDead, Error: "HTTP 400 from https://h"}, "mail": {Status: client.DeliverySent}},
	} {
		ticket := client.Ticket{State: client.StateFailed, Summary: "high risk: kev", Notification: &client.Notification{}, Delivery: delivery}
		if got := WhyFailed(ticket); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
