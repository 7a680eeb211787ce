// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// The states of the flows, as the README draws them.
const (
	initial   = "INIT"
	online    = "ASSET_ONLINE"
	offline   = "ASSET_OFFLINE"
	examined  = "VULN_CHECK_DONE"
	risky     = "HIGH_RISK_FOUND"
	gathered  = "GATHERED"
	notifying = "NOTIFYING"
	notified  = "NOTIFIED"
	finished  = "FINISHED"
	failed    = "FAILED"
)

type arrow struct{ from, by, to string }

// arrows are those of both flows: their states do not meet but in those that every flow has.
var arrows = []arrow{
	{initial, "online", online},
	{initial, "online", offline},
	{offline, "online", online},
	{offline, "finish", finished},
	{online, "vuln", examined},
	{examined, "intel", examined},
	{examined, "assess", risky},
	{examined, "assess", finished},
	{examined, "finish", finished},
	{risky, "notify", notifying},
	{initial, "gather", gathered},
	{gathered, "notify", notifying},
	{gathered, "finish", finished},
	{notifying, "finish", finished},
	{notified, "finish", finished},
}

// steps are the names of all steps: each has its place in a register.
var steps = []string{"online", "vuln", "intel", "assess", "gather"}

func leads(from, by, to string) bool { return slices.Contains(arrows, arrow{from, by, to}) }

func terminal(state string) bool { return state == finished || state == failed }

// delivered are the states in which a ticket may be when deliveries and ends of claims have gone on without a call.
func delivered(state string) []string {
	switch state {
	case notifying:
		return []string{notifying, notified, failed, finished}
	case notified:
		return []string{notified, finished}
	}
	return []string{state}
}
