// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"time"

	"github.com/picketd/picket/outbox"
)

// memo is what is remembered of a channel of an intent between two looks, in memory only.
type memo struct {
	asks      int           // questions in a row that got no answer
	busyUntil time.Duration // on Boottime: until then another's lease that was seen may be alive
	seated    bool          // rank is set, and kept until the channel is settled
	rank      rank
	untold    *outbox.Outcome // of an attempt that is over, not on the ticket yet; it is brought there before the next one
}

// errand is what people must be told once, under whatever intent: data that Redis lost may leave two of them.
type errand struct {
	ticket  string
	run     int64
	channel string
}
