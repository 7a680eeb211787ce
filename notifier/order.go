// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// memo is what is remembered of a channel of an intent between two looks, in memory only.
type memo struct {
	asks      int           // questions in a row that got no answer
	busyUntil time.Duration // on Boottime: until then another's lease that was seen may be alive
	first     time.Duration // on Boottime: when this run was about to try it first; set with seated
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

// key is one intent on one channel.
type key struct{ id, channel string }

// rank says what goes first on a channel: the severity, then users in turn, then age.
type rank struct {
	severity int           // of channel.Severities: the higher, the earlier
	turn     int64         // of its user among those of the severity
	at       time.Duration // when the intent was staged, from the epoch
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.severity, r.severity), cmp.Compare(r.turn, o.turn), cmp.Compare(r.at, o.at))
}

// turns deals out the turns of a lane: each user's next is one after the user's last, and who has none begins with what is being
// served. So a user with one notification is not behind another's hundreds.
type turns struct {
	served map[int]int64 // by severity
	next   map[seat]int64
}

type seat struct {
	severity int
	user     string
}

func newTurns() turns { return turns{map[int]int64{}, map[seat]int64{}} }

// of is the rank of an intent whose turn has not been dealt out.
func (t turns) of(in outbox.Intent) (rank, seat) {
	s := seat{slices.Index(channel.Severities, in.Severity), in.User}
	return rank{s.severity, max(t.served[s.severity], t.next[s]), time.Duration(in.At.UnixNano())}, s
}

// deal deals out a turn that of returned.
func (t turns) deal(r rank, s seat) {
	t.next[s] = r.turn + 1
	if len(t.next) <= maxSeats {
		return
	}
	for s, next := range t.next {
		if next <= t.served[s.severity] {
			delete(t.next, s)
		}
	}
}

// maxSeats is when the seats are gone through for those that nobody waits on.
const maxSeats = 1024
