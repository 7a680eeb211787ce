// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func bulky(i int) Intent {
	in := newIntent(fmt.Sprintf("host-%d/w48", i))
	in.Channels["ops"] = Delivery{Type: "webhook", Status: Pending, Body: []byte(strings.Repeat("z", 10_000))}
	return in
}

func TestFull_OnlyNewIntentsAreRefused(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	path := filepath.Join(t.TempDir(), "outbox.db")
	var log strings.Builder
	s := open(t, path, Options{MaxSize: limit, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := s.Full(); err != nil {
		t.Errorf("the empty outbox says %v", err)
	}
	var in []Intent
	for {
		if len(in) > limit/10_000 {
			t.Fatalf("%d intents of 11 kB went into 1 MiB", len(in))
		}
		next := bulky(len(in))
		staged := s.Stage(next)
		if staged == nil {
			in = append(in, next)
			continue
		}
		adopted := s.Adopt(next) // a write that failed may free a page
		if !errors.Is(staged, ErrFull) || adopted != nil && !errors.Is(adopted, ErrFull) {
			t.Fatalf("the full outbox says %v and %v", staged, adopted)
		}
		if adopted != nil {
			break
		}
		in = append(in, next)
	}
	if len(in) < 30 {
		t.Fatalf("only %d intents of 11 kB went into 1 MiB", len(in))
	}
	if info, err := os.Stat(path); err != nil || info.Size() > limit {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	if got := s.Stats(); got.Staged+got.Ready != len(in) {
		t.Errorf("%d are there and Stats says %+v", len(in), got)
	}
	full, ok := errors.AsType[*FullError](s.Full())
	if !ok || full.MaxSize != limit || !strings.Contains(full.Error(), "outbox.max_size_mib (1 MiB)") || s.Writable() != nil {
		t.Errorf("the full outbox says %v", full)
	}
	if n := strings.Count(log.String(), "no more notifications are accepted"); n < 1 || n > 3 { // small ones may fit in between
		t.Errorf("it was logged %d times that it is full", n)
	}
	// What comes together with one that does not fit goes through all the same.
	var wg sync.WaitGroup
	for i, in := range in {
		wg.Go(func() {
			if err := errors.Join(s.Commit(in.Ref), s.Postpone(in.Ref, "ops", time.Now()), s.Begin(in.Ref, "ops", 1),
				s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, Error: strings.Repeat("e", 512)}, time.Now(), false)); err != nil {
				t.Error(err)
			}
			more := bulky(i)
			switch err := s.Stage(more); {
			case err == nil:
				if _, err := s.Get(more.Ref); err != nil {
					t.Errorf("what was staged is not there: %v", err)
				}
			case !errors.Is(err, ErrFull):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, in := range in {
		if err := errors.Join(s.Recorded(in.Ref, "ops"), s.Shut(in.Ref)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range len(in) / 2 {
		if err := s.Stage(bulky(i)); err != nil {
			t.Fatalf("after all was shut, the %dth says %v", i, err)
		}
	}
}

// The role runs in a mount namespace of its own, where path is a file system of 1 MiB.
func init() {
	roles["disk"] = func(path string) {
		dir := filepath.Dir(path)
		must(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
		ballast := filepath.Join(dir, "ballast")
		must(os.WriteFile(ballast, make([]byte, 200<<10), 0o600))
		s, err := Open(path, Options{})
		must(err)
		var in []Intent
		for {
			next := bulky(len(in))
			if err = s.Stage(next); err != nil {
				break
			}
			in = append(in, next)
		}
		fmt.Println(errors.Is(err, syscall.ENOSPC), errors.Is(err, ErrFull), errors.Is(err, ErrDamaged), err)
		check := func() {
			for _, in := range in {
				if got, err := s.Get(in.Ref); err != nil || string(got.Channels["ops"].Body) != string(in.Channels["ops"].Body) {
					panic(fmt.Sprint("what was staged is not there: ", err))
				}
			}
			if s.Stats().Staged != len(in) {
				panic(fmt.Sprintf("%d are staged and Stats says %+v", len(in), s.Stats()))
			}
		}
		check()
		if err := s.Writable(); !errors.Is(err, syscall.ENOSPC) {
			panic(fmt.Sprint("it is said to be writable: ", err))
		}
		must(s.Close())
		s, err = Open(path, Options{}) // a daemon must start on a full disk, too
		must(err)
		check()
		if err := s.Writable(); !errors.Is(err, syscall.ENOSPC) {
			panic(fmt.Sprint("opened again it is said to be writable: ", err))
		}
		must(os.Remove(ballast))
		must(s.Writable())
		next := bulky(len(in))
		must(s.Stage(next))
		in = append(in, next)
		check()
		for _, in := range in {
			must(deliverStaged(s, in))
		}
		must(s.Close())
		fmt.Println("done")
	}
}

func deliverStaged(s *Store, in Intent) error {
	return errors.Join(
		s.Commit(in.Ref),
		s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent}, time.Now(), true),
		s.Shut(in.Ref),
	)
}

func TestFull_ADiskWithoutRoomIsAnErrorAndPasses(t *testing.T) {
	t.Parallel()
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	cmd, _, out, err := childWith(t, "disk", filepath.Join(t.TempDir(), "outbox.db"), attr)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("a mount namespace of its own is not permitted here")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !out.Scan() || !strings.HasPrefix(out.Text(), "true false false cannot write the outbox: ") {
		t.Errorf("on a full disk Stage says %q", out.Text())
	}
	if !out.Scan() || out.Text() != "done" {
		t.Errorf("it ended with %q", out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// One user's notifications that nobody takes leave room for another's, over a restart too, and those that are closed count no more.
func TestFull_OneUserLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{MaxSize: 4 << 20})
	stage := func(user string, i int) error {
		in := bulky(i)
		in.User, in.ID = user, fmt.Sprintf("%s-%d", user, i)
		in.Ticket = in.ID + "/w48"
		return s.Stage(in)
	}
	fill := func(user string) (n int) {
		t.Helper()
		for ; ; n++ {
			err := stage(user, n)
			if err == nil {
				continue
			}
			full, ok := errors.AsType[*FullError](err)
			if !ok || full.User != user || !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "user "+user) {
				t.Fatalf("user %s is refused after %d with %v", user, n, err)
			}
			return n
		}
	}
	hog := fill("1001")
	if err := s.Full(); err != nil {
		t.Errorf("one user's share is used up, and the outbox says of itself %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{MaxSize: 4 << 20})
	if err := stage("1001", hog); !errors.Is(err, ErrFull) {
		t.Errorf("after a restart it is %v", err)
	}
	other := fill("1002")
	if hog < 100 || other < 50 || fill("1003") < 20 {
		t.Errorf("the first got %d in, the second %d", hog, other)
	}
	if err := stage("", 0); err != nil {
		t.Errorf("an administrator's is refused: %v", err)
	}
	for i := range hog {
		ref := Ref{fmt.Sprintf("1001-%d/w48", i), fmt.Sprintf("1001-%d", i)}
		if err := errors.Join(s.Commit(ref), s.Shut(ref)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stage("1001", hog); err != nil {
		t.Errorf("after all was closed: %v", err)
	}
}
