// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// hasDelivery says whether a notification has one of these statuses on any channel.
func hasDelivery(t client.Ticket, statuses ...string) bool {
	for _, d := range t.Delivery {
		if slices.Contains(statuses, d.Status) {
			return true
		}
	}
	return false
}

// WasTold says whether there is a receipt: somebody has got the notification.
func WasTold(t client.Ticket) bool {
	return t.Notification != nil && hasDelivery(t, client.DeliverySent)
}

// deliveries says how it stands with each channel.
func deliveries(t client.Ticket) string {
	if len(t.Delivery) == 0 {
		return "no channel"
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(t.Delivery)) {
		d := t.Delivery[name]
		one := name + ": " + d.Status
		if d.Error != "" {
			one += ": " + plain.Line(d.Error, 0)
		}
		said = append(said, one)
	}
	return strings.Join(said, "; ")
}

// WhyFailed says why a ticket is FAILED.
func WhyFailed(t client.Ticket) string {
	switch {
	case t.Failure != nil:
		return t.Failure.Step + ": " + t.Failure.Error
	case t.Notification != nil && !WasTold(t):
		return "people were not told (" + deliveries(t) + ")"
	case hasDelivery(t, client.DeliveryDead):
		return "not all were told (" + deliveries(t) + ")"
	}
	return cmp.Or(t.Summary, "nothing says why; picket ticket history may")
}
