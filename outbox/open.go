// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// SetAside renames a damaged outbox to a dated name beside it, which it returns, so that Open makes a new one. It refuses a
// file that a process has open, with ErrLocked.
func SetAside(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("cannot set the outbox aside: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = locked(path)
		}
		return "", fmt.Errorf("cannot set the outbox %s aside: %w", path, err)
	}
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("cannot set the outbox aside: %w", err)
	}
	return aside, syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
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
	o.MaxSize = cmp.Or(max(o.MaxSize, 0), DefaultMaxSize)
	o.LockTimeout = cmp.Or(max(o.LockTimeout, 0), DefaultLockTimeout)
	o.KeepReceipt = cmp.Or(max(o.KeepReceipt, 0), DefaultKeepReceipt)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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
