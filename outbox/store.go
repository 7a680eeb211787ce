// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The situations that callers tell apart.
var (
	ErrNotFound = errors.New("no such intent")
	ErrFull     = errors.New("the outbox is full")
	ErrLocked   = errors.New("the outbox is in use by another process")
	ErrDamaged  = errors.New("the outbox file is damaged")

	// ErrUnavailable is for those that cannot do what they are asked because of any of these, or because the outbox is a copy.
	ErrUnavailable = errors.New("the outbox cannot be written")
)

var errClosed = errors.New("the outbox is closed")

// formatVersion is that of the file's layout. A file of a higher one is refused: what it holds is not understood here. One of 1, whose
// records have no checksums, is given them.
const formatVersion = 2

// Store is the outbox file. All methods may be called at once; those that write return after fsync.
type Store struct {
	path string
	id   string
	keep time.Duration // of closed intents
	most int           // closed intents, so that they never crowd out new ones

	log *slog.Logger

	swap sync.RWMutex // held to put another file in the place of db and file, shared to read; who has the turn needs it not
	db   *bolt.DB
	file *os.File // bbolt's own

	turn  chan struct{} // held by whoever commits, compacts, and by Close
	queue struct {
		sync.Mutex
		ops []*op
	}
	limit  int              // bytes of the file when a growing op is written; guarded by turn
	counts map[Origin]int   // guarded by turn
	waits  map[string]bool  // the intents that only wait for a person (tx.waits); guarded by turn
	used   map[string]int64 // by user: the Size of the intents that are not closed; guarded by turn
	broken error            // what a write panicked with; guarded by turn
	closed bool             // guarded by turn
	looked time.Time        // when it was last decided whether to compact; guarded by turn

	damaged atomic.Int64       // intents that were taken out
	failed  atomic.Bool        // the last write did not come to the disk
	full    atomic.Bool        // the last growing write was refused for MaxSize
	passes  func(point string) // for a test that ends the process there; nil: nothing

	stats   atomic.Pointer[Stats]
	changed chan struct{} // capacity 1, never closed
	next    struct {      // what Due last said
		sync.Mutex
		at time.Time
	}
}

// openFile opens a bbolt file, and tells which one that is even if it panics.
func openFile(path string, timeout time.Duration, file **os.File) (*bolt.DB, error) {
	return bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      timeout,
		FreelistType: bolt.FreelistMapType,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			*file = f
			return f, err
		},
	})
}

// ID is the outbox's random identity, made with the file: who has the file answers for its intents.
func (s *Store) ID() string { return s.id }

// Due is a channel that is to be looked at: one of a sendable intent that is not settled, or whose settled status is not on
// the ticket; or one of a closed intent that is Sent, and not on the ticket.
type Due struct {
	Ref
	Channel string
	At      time.Time
}

// recordError is an ErrDamaged that concerns one record alone.
type recordError struct{ bucket, key string }

func (e *recordError) Error() string {
	return fmt.Sprintf("%v: %.100q in %s does not match its checksum", ErrDamaged, e.key, e.bucket)
}

// Is makes it an ErrDamaged.
func (e *recordError) Is(target error) bool { return target == ErrDamaged }

// errTree is met where the tree of keys makes no sense.
var errTree = errors.New("keys are not in order, or are no records")

// Stats are what the metrics and the status call show; kept in memory, not counted by a walk.
type Stats struct {
	Staged int
	Ready  int       // committed or adopted, and not only waiting for a person
	Oldest time.Time // At of the oldest of those; zero when there is none
}

// op is one caller's change. fn may be called twice. It refuses before it changes anything: an error of its own does not undo
// what the others of its transaction wrote.
type op struct {
	fn    func(*tx) error
	grows bool // it is held to the file's limit; the others may use the room beyond it
	err   error
	done  chan struct{} // closed when err stands
}

var errNothing = errors.New("nothing to write")
