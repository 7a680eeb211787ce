// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "slices"

// refusals are the codes by which a call can be refused, as the API's document has them.
var refusals = []string{
	"BAD_REQUEST", "INVALID", "INVALID_ASSET", "INVALID_TASK", "UNKNOWN_FLOW", "UNKNOWN_STEP", "UNKNOWN_CHANNEL", "FORBIDDEN", "NOT_FOUND",
	"METHOD_NOT_ALLOWED", "TICKET_NOT_FOUND", "TICKET_DAMAGED", "TASK_NOT_FOUND", "CLAIM_NOT_FOUND", "INTENT_NOT_FOUND", "HOST_NOT_FOUND",
	"HOST_ALIVE", "STALE_TOKEN", "CLAIM_LOST", "ILLEGAL_TRANSITION", "STEP_CONFLICT", "CONTENT_CONFLICT", "FLOW_MISMATCH", "BODY_TOO_LARGE",
	"LOCK_HELD", "TOO_MANY_CLAIMS", "TOO_MANY_CALLS", "STORE_UNAVAILABLE", "REPLICAS_MISSING", "OUTBOX_UNAVAILABLE", "DRAINING",
}

// problems looks whether each refusal has a code that is known, and a sentence. That it has left no trace the registers show. (G11)
func (c *checker) problems() {
	for _, one := range c.calls {
		if one.status >= 300 && (!slices.Contains(refusals, one.code) || one.out.Detail == "") {
			c.violate("G11", one.ticket(), one.records(), "refused without a code that is known, or without a sentence: %s", one)
		}
	}
}
