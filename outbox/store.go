// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"time"
)

// The situations that callers tell apart.
var (
	ErrNotFound = errors.New("no such intent")
	ErrFull     = errors.New("the outbox is full")
	ErrLocked   = errors.New("the outbox is in use by another process")
	ErrDamaged  = errors.New("the outbox file is damaged")
)

// Store is the outbox file. All methods may be called at once; those that write return after fsync.
type Store struct{}

// Options are for Open.
type Options struct {
	MaxSize     int64         // bytes; past it Stage and Adopt answer ErrFull. Defaults to 256 MiB
	LockTimeout time.Duration // for another process to let go of the file. Defaults to 1 s
	KeepReceipt time.Duration // how long receipts stay. Defaults to 30 days
}

// Open opens or makes the outbox at path (mode 0600). ErrLocked names the process that has it when it can be told.
func Open(path string, o Options) (*Store, error) { panic("contract") }

// Close flushes and closes the file. It is safe to call twice.
func (s *Store) Close() error { panic("contract") }

// ID is the outbox's random identity, made with the file: who has the file answers for its intents.
func (s *Store) ID() string { panic("contract") }

// Stage writes an intent that is not sendable. The ID must be fresh.
func (s *Store) Stage(in Intent) error { panic("contract") }

// Commit makes a staged intent sendable. Committing what is committed or closed already is no error.
func (s *Store) Commit(ref Ref) error { panic("contract") }

// Adopt writes an intent whose content was taken from the ticket, sendable at once. If the store has an intent with this ID,
// it is left as it is, but for a staged one, which is committed.
func (s *Store) Adopt(in Intent) error { panic("contract") }

// Discard removes a staged intent. What is not staged, or not there, is left alone.
func (s *Store) Discard(ref Ref) error { panic("contract") }

// Get returns an intent with its bodies, or ErrNotFound.
func (s *Store) Get(ref Ref) (Intent, error) { panic("contract") }

// Ticket returns the intents of a ticket (ASSET/TASK), oldest first, closed ones too, without bodies.
func (s *Store) Ticket(ticket string) ([]Intent, error) { panic("contract") }

// List returns intents of one origin, or of all but Closed when origin is empty, oldest first, without bodies, at most limit.
func (s *Store) List(origin Origin, limit int) ([]Intent, error) { panic("contract") }

// Due is a channel of a sendable intent that is to be looked at.
type Due struct {
	Ref
	Channel string
	At      time.Time
}

// Due returns what is due by now, the most overdue first, at most limit, and when the next one after those is due (zero:
// none). It reads an index; its cost does not grow with the number of intents.
func (s *Store) Due(now time.Time, limit int) (due []Due, next time.Time, err error) { panic("contract") }

// Changed is signalled (capacity 1) when something may have become due sooner than Due last said.
func (s *Store) Changed() <-chan struct{} { panic("contract") }

// Begin records that an attempt goes out now: Status Sending and Attempts = number, fsynced before the first byte. For
// at_most_once channels only; the others need no write before a send.
func (s *Store) Begin(ref Ref, channel string, number int) error { panic("contract") }

// Record writes an outcome. For Pending and Unknown, due is when the channel is tried again; for a settled status it is when
// the outcome is recorded on the ticket again if recorded is false.
func (s *Store) Record(o Outcome, due time.Time, recorded bool) error { panic("contract") }

// Recorded notes that a channel's settled status is on the ticket, and takes it out of what is due.
func (s *Store) Recorded(ref Ref, channel string) error { panic("contract") }

// Postpone moves a channel's due time, and nothing else. It need not be fsynced.
func (s *Store) Postpone(ref Ref, channel string, due time.Time) error { panic("contract") }

// Shut closes an intent: content and bodies leave, the receipts of its sent channels stay.
func (s *Store) Shut(ref Ref) error { panic("contract") }

// Receipt is the recorded fact that a channel accepted a notification.
type Receipt struct {
	Ref
	Key     string
	Run     int64
	Channel string
	At      time.Time
}

// Receipt returns this outbox's receipt for a ticket's run on a channel, if there is one.
func (s *Store) Receipt(ticket string, run int64, channel string) (Receipt, bool, error) {
	panic("contract")
}

// Stats are what the metrics and the status call show; kept in memory, not counted by a walk.
type Stats struct {
	Staged int
	Ready  int       // committed or adopted, not closed
	Oldest time.Time // At of the oldest of those; zero when there is none
}

// Stats returns the current Stats.
func (s *Store) Stats() Stats { panic("contract") }
