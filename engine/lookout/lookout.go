// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Outbox is what the signs of life need of this daemon's outbox.
type Outbox interface {
	Enlist(run string) (former []string, err error)
	Writable() error
}

// Config is what New needs.
type Config struct {
	Outbox   Outbox
	Daemon   *store.Daemon      // this one
	About    func() store.About // what the fleet is told of it; it must not block. nil: nothing
	StateDir string             // where is kept what the next start shall know. Empty: nowhere
	Now      func() time.Duration
	Alarmed  func(name, message string) // is called for each alarm that is said in the log, and must not block. nil: nothing
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: metrics are kept and shown nowhere
}

// Lookout knows what trust rests on. It is the Watch of a store.
type Lookout struct {
	Pace Pace // of the signs of life. To be changed before the loops begin

	c       Config
	store   *store.Store
	wall    func() time.Time
	metrics *metrics
	alarms  *alarms
	tokens  tokens
	writes  writes
	signs   signs
	stands  atomic.Pointer[string] // what Standing says; nil: nobody can tell
	overdue chan []store.Silent    // has room for the answer to who asked

	known atomic.Pointer[map[string]string] // a copy of stores; nil before the first look

	// What a look alone uses, of which there is one at a time.
	looking sync.Mutex
	rounds  int                  // looks at what was written
	stores  map[string]string    // the incarnation last found, by key
	host    *clockStand          // nil: not read yet
	servers map[string]clockTime // of each master, by address
}

// New starts nothing.
func New(c Config) *Lookout {
	if c.Alarmed == nil {
		c.Alarmed = func(string, string) {}
	}
	return &Lookout{
		Pace: defaultPace, c: c, wall: func() time.Time { return time.Now().Round(0) }, metrics: newMetrics(c.Registry), alarms: newAlarms(c.Logger, c.Alarmed),
		overdue: make(chan []store.Silent, 1), stores: map[string]string{}, servers: map[string]clockTime{},
	}
}

// Over says which store it looks at, which has this lookout as its Watch. It comes before all else.
func (l *Lookout) Over(s *store.Store) { l.store = s }

// clockStand is how far this host's wall clock is ahead of CLOCK_BOOTTIME, in Unix time.
type clockStand time.Duration

// clockTime is what Redis' TIME answered, compared with both clocks of this host.
type clockTime struct {
	offset time.Duration // Redis' clock ahead of this host's
	stand  time.Duration // Redis' clock ahead of CLOCK_BOOTTIME, in Unix time
	error  time.Duration // half of the round trip: by so much both may be wrong
}

// Pace is how the daemons of a fleet watch each other.
type Pace struct {
	Every  time.Duration // between two signs of life, each of which is a look at those of others
	Life   time.Duration // of a sign
	Steady time.Duration // for which the own sign must have been written without a break before another counts as dead
	Missed time.Duration // for which the other's sign must have been missed after it had run out, while no two looks were so far apart
}

// defaultPace is chosen for when Redis was away, or lost signs, or its clock was set: proof/models/sign. Steady is longer than Life: all that
// live have signed again before anyone judges. Missed is longer than Every: so has one whose last sign had run out when Redis came back.
var defaultPace = Pace{Every: 5 * time.Second, Life: 25 * time.Second, Steady: 30 * time.Second, Missed: 10 * time.Second}

// signs are this daemon's signs of life.
type signs struct {
	mu     sync.Mutex
	former []string      // the runs of this outbox before this one; nil until this run is noted in the outbox
	signed bool          // once, by this run
	at     string        // when the last was written, ms of Redis' clock
	stood  time.Duration // the same
	last   time.Duration // CLOCK_BOOTTIME when the last was sent
	since  time.Duration // when the first of those was sent before which none had run out or was lost, and Redis' clock was not set
	looks  time.Duration // when the first of those was sent between which there was always less than Missed
	whole  time.Duration // when the first of those was sent since which no other daemon can have missed one for long enough
	looked time.Duration // when Redis was last asked to take one, whether it answered or not
	failed bool          // the last was not written
	lapsed bool          // for longer than a sign lives it was not asked, and has not answered since
	rival  rival         // who signs with this identity too; zero: nobody
	told   string        // the row that stands in Redis; empty: not known
	asked  bool          // somebody waits to be told who is overdue
}

// rival is another run whose sign stands under this identity.
type rival struct {
	store.Signed
	since time.Duration // when this sign was first found
	again bool          // it was renewed since
}

// meet notes another's sign, and whether it is alive: one that was renewed.
func (s *signs) meet(r rival) {
	if was := s.rival; was.Run == r.Run {
		r.again = was.again || was.At != r.At
		if was.At == r.At {
			r.since = was.since
		}
	}
	s.rival = r
}

// ErrCloned is a outbox.ErrUnavailable, and said loudly: nothing is accepted or sent.
var ErrCloned = fmt.Errorf("this one accepts and sends nothing: %w", outbox.ErrUnavailable)

// Error says who it is.
func (r rival) Error() string {
	who := "another daemon"
	if r.PID != "" {
		who = fmt.Sprintf("process %s on host %s", r.PID, r.Host)
	}
	if r.again {
		return fmt.Sprintf("%s runs with a copy of this outbox.db: stop it, and remove the copy that is not wanted; until it has stopped, %v", who, ErrCloned)
	}
	return fmt.Sprintf("%s signed with the identity of this outbox.db; until it is known to have stopped, %v", who, ErrCloned)
}

func (r rival) Unwrap() error { return ErrCloned }
