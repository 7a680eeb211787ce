// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func init() {
	roles["hold"] = func(path string) {
		s, err := Open(path, Options{})
		must(err)
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		must(s.Close())
	}
}

func TestOpen_MakesAPrivateFileWithAnIdentity(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{})
	id := s.ID()
	if len(id) < 26 {
		t.Errorf("its identity is %q: too short to be unique", id)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := open(t, path, Options{}); again.ID() != id {
		t.Errorf("its identity was %s and is %s", id, again.ID())
	}
	if other := setup(t); other.ID() == id {
		t.Errorf("two outboxes have the identity %s", id)
	}
}

func TestOpen_RefusesWhatIsNotIts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make    func(*bolt.Tx) error
		damaged bool
		says    string
	}{
		"newer": {func(btx *bolt.Tx) error {
			b, err := btx.CreateBucket(metaBucket)
			return errors.Join(err, b.Put(versionKey, []byte("3")), b.Put(versionSumKey, seal(versionSumKey, []byte("3"))))
		}, false, "version 3"},
		"version without its checksum": {func(btx *bolt.Tx) error {
			b, err := btx.CreateBucket(metaBucket)
			return errors.Join(err, b.Put(versionKey, []byte("3")))
		}, true, `"3"`},
		"version unreadable": {func(btx *bolt.Tx) error {
			b, err := btx.CreateBucket(metaBucket)
			return errors.Join(err, b.Put(versionKey, []byte("x")))
		}, true, `"x"`},
		"bucket missing": {func(btx *bolt.Tx) error {
			b, err := btx.CreateBucket(metaBucket)
			return errors.Join(err, b.Put(versionKey, []byte("1")))
		}, true, "intents"},
		"meta missing": {func(btx *bolt.Tx) error {
			_, err := btx.CreateBucket(dueBucket)
			return err
		}, true, "no meta"},
		"another program's": {func(btx *bolt.Tx) error {
			_, err := btx.CreateBucket([]byte("members"))
			return err
		}, false, `"members"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "outbox.db")
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(c.make), db.Close()); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(path, Options{})
			if err == nil || errors.Is(err, ErrDamaged) != c.damaged || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("a refused file was changed, %v", err)
			}
			if _, err := SetAside(path); err != nil {
				t.Errorf("its lock is still held: %v", err)
			}
		})
	}
}

func TestOpen_WhatTheSystemRefusesIsNotDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "outbox.db")} {
		if _, err := Open(path, Options{}); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("opening %s says %v", path, err)
		}
	}
}

func TestF22_ASecondOpenerIsToldWhoHasTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	cmd, in, out := child(t, "hold", path)
	if !out.Scan() {
		t.Fatal("the other process did not open it")
	}
	_, err := Open(path, Options{LockTimeout: 100 * time.Millisecond})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", cmd.Process.Pid)) {
		t.Errorf("with process %d having it, Open says %v", cmd.Process.Pid, err)
	}
	if _, err := SetAside(path); !errors.Is(err, ErrLocked) {
		t.Errorf("with process %d having it, SetAside says %v", cmd.Process.Pid, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	if _, err := Open(path, Options{LockTimeout: 100 * time.Millisecond}); !errors.Is(err, ErrLocked) ||
		!strings.Contains(err.Error(), fmt.Sprintf("pid %d ", os.Getpid())) {
		t.Errorf("in one process, Open says %v", err)
	}
	if err := s.Stage(newIntent("web-01/w48")); err != nil {
		t.Errorf("the first opener cannot write any more: %v", err)
	}
}

func TestF22_ALockThatIsLetGoInTimeIsTaken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	cmd, in, out := child(t, "hold", path)
	if !out.Scan() {
		t.Fatal("the other process did not open it")
	}
	opened := make(chan error)
	go func() {
		s, err := Open(path, Options{LockTimeout: time.Minute})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	in.Close()
	if err := errors.Join(cmd.Wait(), <-opened); err != nil {
		t.Error(err)
	}
}

func TestClose_IsSafeTwiceAndEndsAllCalls(t *testing.T) {
	t.Parallel()
	s := setup(t)
	in := newIntent("web-01/w48")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stage(in); !errors.Is(err, errClosed) {
		t.Errorf("Stage says %v", err)
	}
	if _, err := s.Get(in.Ref); !errors.Is(err, errClosed) {
		t.Errorf("Get says %v", err)
	}
	if _, _, err := s.Due(time.Now(), 1); !errors.Is(err, errClosed) {
		t.Errorf("Due says %v", err)
	}
}
