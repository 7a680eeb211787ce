// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"time"

	"github.com/picketd/picket/outbox"
)

// entry is what waits in a lane.
type entry struct {
	outbox.Due
	rank
}

func (e entry) key() key { return key{e.ID, e.Channel} }

// lane is what waits for one channel. A slow one fills up and holds nobody else.
type lane struct {
	*gate     // nil for the channels that are not configured
	most  int // workers

	// guarded by Notifier.mu:
	queue   []entry // the best first
	turns   turns
	running int       // workers, at most most
	full    time.Time // since when it has been full without falling below half; zero: it has room
	done    int       // looks that ended since then
	left    int       // how much the last scan left in the outbox
}

// ranked is what is due, and the intent without its channels.
type ranked struct {
	outbox.Due
	in outbox.Intent
}
