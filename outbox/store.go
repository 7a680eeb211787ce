// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
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

// Options are for Open.
type Options struct {
	MaxSize     int64         // bytes; past it Stage and Adopt answer ErrFull. Defaults to 256 MiB
	LockTimeout time.Duration // for another process to let go of the file. Defaults to 1 s
	KeepReceipt time.Duration // how long receipts stay. Defaults to 30 days
	Logger      *slog.Logger  // Defaults to none
}

// The defaults of Options.
const (
	DefaultMaxSize     = 256 << 20
	DefaultLockTimeout = time.Second
	DefaultKeepReceipt = 30 * 24 * time.Hour
)

// Open opens or makes the outbox at path (mode 0600). ErrLocked names the process that has it when it can be told. With
// ErrDamaged the file is left as it is; SetAside makes room for a new one.
func Open(path string, o Options) (s *Store, err error) {
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	if o.KeepReceipt <= 0 {
		o.KeepReceipt = DefaultKeepReceipt
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s = &Store{
		path:    path,
		log:     o.Logger,
		keep:    o.KeepReceipt,
		most:    max(1, int(o.MaxSize/2/closedSize)),
		limit:   int(o.MaxSize),
		turn:    make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		looked:  time.Now(),
	}
	if err := s.open(o.LockTimeout); err != nil {
		if s.file != nil {
			_ = release(s.file) // bbolt may have closed it already
		}
		return nil, fmt.Errorf("cannot open the outbox %s: %w", path, err)
	}
	return s, nil
}

// open leaves s.file to be released when it fails, because bbolt forgets it when it panics.
func (s *Store) open(timeout time.Duration) (err error) {
	defer guard(&err)()
	s.db, err = openFile(s.path, timeout, &s.file)
	switch errno := syscall.Errno(0); {
	case errors.Is(err, berrors.ErrTimeout):
		return locked(s.path)
	case errors.As(err, &errno):
		return err
	case err != nil:
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	case !s.hasName():
		return locked(s.path) // it waited for a file whose process has put another in its place
	}
	if err := os.Remove(s.path + compacting); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("cannot remove what a crash left of a smaller outbox file", "error", err)
	}
	if err := s.check(); err != nil {
		return err
	}
	// The file's name must be as durable as what is written in it.
	return syncDir(filepath.Dir(s.path))
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

// hasName reports whether the open file is the one that has the outbox's name.
func (s *Store) hasName() bool {
	named, err := os.Stat(s.path)
	if err != nil {
		return false
	}
	open, err := s.file.Stat()
	return err == nil && os.SameFile(named, open)
}

// check reads every page that holds keys, so that damage shows now and not in the middle of a notification.
func (s *Store) check() error {
	if err := s.prefetch(); err != nil {
		return err
	}
	if err := s.db.Update(s.prepare); err != nil && !errors.Is(err, errNothing) {
		return err
	}
	if err := s.mend(); err != nil {
		return err
	}
	return s.db.View(func(btx *bolt.Tx) error {
		return s.count(&tx{Tx: btx})
	})
}

// mend takes out what single damaged records concern.
func (s *Store) mend() error {
	err := s.sound()
	if _, ok := errors.AsType[*recordError](err); ok {
		t := &tx{}
		var lost []string
		if err = s.db.Update(func(btx *bolt.Tx) error {
			t.Tx = btx
			lost = t.repair()
			return t.err
		}); err == nil {
			s.tell(lost)
			err = s.sound()
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return nil
}

// prefetch reads the file in order, which after a boot is several times faster than to fault its pages in by the tree, and
// refuses one that is shorter than its tree.
func (s *Store) prefetch() error {
	return s.db.View(func(btx *bolt.Tx) error {
		n, err := io.Copy(io.Discard, io.NewSectionReader(s.file, 0, btx.Size()))
		if err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		if n < btx.Size() {
			return fmt.Errorf("%w: it is cut off at %d of %d bytes", ErrDamaged, n, btx.Size())
		}
		return nil
	})
}

// prepare makes the buckets and the identity of a new file, and checks the version of an old one, to which it writes nothing.
func (s *Store) prepare(btx *bolt.Tx) error {
	if meta := btx.Bucket(metaBucket); meta != nil {
		return s.known(btx, meta)
	}
	other := btx.Cursor()
	first, _ := other.First()
	for k := first; k != nil; k, _ = other.Next() { // and not by name: what is damaged may not be found so
		if bytes.Equal(k, metaBucket) || slices.ContainsFunc(buckets, func(name []byte) bool { return bytes.Equal(name, k) }) {
			return fmt.Errorf("%w: it has %s and no %s that can be read", ErrDamaged, k, metaBucket)
		}
	}
	if first != nil {
		return fmt.Errorf("it is another program's database: it has %q and no %s", first, metaBucket)
	}
	for _, name := range append([][]byte{metaBucket, asideBucket}, buckets...) {
		if _, err := btx.CreateBucket(name); err != nil {
			return err
		}
	}
	t := &tx{Tx: btx}
	s.id = rand.Text()
	t.put(metaBucket, idKey, []byte(s.id))
	t.putVersion()
	return t.err
}

// known reads the version and the identity of an old file.
func (s *Store) known(btx *bolt.Tx, meta *bolt.Bucket) error {
	raw := meta.Get(versionKey)
	version, err := strconv.Atoi(string(raw))
	checked, sumErr := unseal(metaBucket, versionSumKey, meta.Get(versionSumKey))
	if err != nil || version > 1 && (sumErr != nil || !bytes.Equal(checked, raw)) {
		return fmt.Errorf("%w: its version is %q", ErrDamaged, raw)
	}
	if version > formatVersion {
		return fmt.Errorf("its format is version %d, and this program knows up to %d: use the program that wrote it, or a newer one", version, formatVersion)
	}
	for _, name := range buckets {
		if btx.Bucket(name) == nil {
			return fmt.Errorf("%w: it has no %s", ErrDamaged, name)
		}
	}
	t := &tx{Tx: btx}
	if version == 1 {
		t.sealAll()
	}
	id, err := t.get(metaBucket, idKey)
	if err != nil {
		return err
	}
	s.id = string(id)
	if t.dirty || t.err != nil {
		return t.err
	}
	return errNothing
}

// Close flushes and closes the file. It is safe to call twice.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.broken != nil { // bbolt may still hold its own locks
		return release(s.file)
	}
	return s.db.Close()
}

// ID is the outbox's random identity, made with the file: who has the file answers for its intents.
func (s *Store) ID() string { return s.id }
