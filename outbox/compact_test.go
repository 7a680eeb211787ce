// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// grown fills an outbox with 32 MiB, of which 3 are still needed, and returns the intents that are.
func grown(s *Store) (open []Intent, err error) {
	var work sync.WaitGroup
	var mu sync.Mutex
	for i := range 330 {
		in := crashIntent(fmt.Sprint("intent ", i), "ops")
		in.Ticket = fmt.Sprintf("host-%d/w48", i)
		in.Channels["ops"] = Delivery{Type: "webhook", Status: Pending, Body: []byte(strings.Repeat(fmt.Sprint(i), 100_000)[:100_000])}
		if i%11 == 0 {
			open = append(open, in)
		}
		work.Go(func() {
			all := s.Adopt(in)
			if i%11 != 0 {
				all = errors.Join(all, s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent}, in.At, true), s.Shut(in.Ref))
			}
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, all)
		})
	}
	work.Wait()
	return open, err
}

// content is all that stands in the file, and how long that is.
func content(t *testing.T, s *Store) (all map[string]string, size int64) {
	t.Helper()
	all = map[string]string{}
	if err := s.view(func(t *tx) error {
		return t.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				all[string(name)+" "+string(k)] = string(v)
				return nil
			})
		})
	}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return all, info.Size()
}

func TestCompact_TheFileShrinksWhileItIsUsed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := filepath.Join(memoryDir(t), "outbox.db")
	s := open(t, path, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	kept, err := grown(s)
	if err != nil {
		t.Fatal(err)
	}
	before, size := content(t, s)
	done := make(chan struct{})
	var using sync.WaitGroup
	for range 4 {
		using.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				in := kept[i%len(kept)]
				got, err := s.Get(in.Ref)
				_, _, dueErr := s.Due(time.Now(), 100)
				if err := errors.Join(err, dueErr, s.Postpone(in.Ref, "ops", in.At)); err != nil || !bytes.Equal(got.Channels["ops"].Body, in.Channels["ops"].Body) {
					t.Errorf("%s is not whole: %v", in.ID, err)
					return
				}
			}
		})
	}
	s.turn <- struct{}{}
	s.looked = time.Now().Add(-2 * compactEvery)
	<-s.turn
	if err := s.Drop(Ref{}); err != nil {
		t.Error(err)
	}
	close(done)
	using.Wait()
	for _, in := range kept {
		if err := s.Postpone(in.Ref, "ops", in.At); err != nil {
			t.Error(err)
		}
	}
	after, smaller := content(t, s)
	if smaller > size/4 || !strings.Contains(log.String(), "made the outbox file smaller") {
		t.Errorf("the file had %d bytes and has %d; the log says %s", size, smaller, &log)
	}
	if !maps.Equal(before, after) {
		t.Errorf("%d entries were there, and %d others are", len(before), len(after))
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind are %v", left)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if again, _ := content(t, open(t, path, Options{})); !maps.Equal(before, again) {
		t.Error("opened again it has another content")
	}
}

// A file that is small, or mostly needed, is left as it is.
func TestCompact_OnlyWhatIsWorthIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(memoryDir(t), "outbox.db")
	s := open(t, path, Options{})
	file := func() os.FileInfo {
		t.Helper()
		s.turn <- struct{}{}
		s.looked = time.Time{}
		s.tidy()
		<-s.turn
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	was := file()
	for i := range 250 {
		in := bulky(i)
		in.Content = make([]byte, 100_000)
		if err := s.Adopt(in); err != nil {
			t.Fatal(err)
		}
	}
	if is := file(); !os.SameFile(was, is) || is.Size() < compactLeast {
		t.Errorf("it was compacted: %d bytes", is.Size())
	}
}

func TestCompact_AFailureLeavesTheFileAsItIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(memoryDir(t), "outbox.db")
	if err := os.MkdirAll(filepath.Join(path+compacting, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := open(t, path, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := grown(s); err != nil {
		t.Fatal(err)
	}
	before, size := content(t, s)
	s.turn <- struct{}{}
	s.looked = time.Time{}
	s.tidy()
	<-s.turn
	if after, same := content(t, s); same != size || !maps.Equal(before, after) || !strings.Contains(log.String(), "cannot make the outbox file smaller") {
		t.Errorf("it has %d bytes of %d; the log says %s", same, size, &log)
	}
	if err := s.Stage(newIntent("web-01/w48")); err != nil {
		t.Error(err)
	}
}

// A process that waits for the file while another is put in its place must not take the old one for the outbox.
func TestCompact_F22_WhoWaitedForTheOldFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	s := open(t, path, Options{})
	refused := make(chan error)
	go func() {
		_, err := Open(path, Options{LockTimeout: time.Minute})
		refused <- err
	}()
	for opened := 0; opened < 2; time.Sleep(time.Millisecond) {
		opened = 0
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if name, err := os.Readlink(fd); err == nil && name == path {
				opened++
			}
		}
	}
	s.turn <- struct{}{}
	err := s.compact()
	<-s.turn
	if err != nil {
		t.Fatal(err)
	}
	if err := <-refused; !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("it is told %v", err)
	}
}

// compactPoints are where a crash can fall, and whether the file that is found then is the new one.
var compactPoints = map[string]bool{"copied": false, "renamed": true, "swapped": true, "written": true}

func init() {
	for point := range compactPoints {
		roles["compact "+point] = func(path string) {
			s, err := Open(path, Options{})
			must(err)
			_, err = grown(s)
			must(err)
			die := func(now string) {
				if now == point {
					must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
				}
			}
			s.passes = die
			must(s.compact())
			must(s.Stage(crashIntent("written after it", "ops")))
			die("written")
		}
	}
}

func TestCompact_ACrashLeavesOneFileOrTheOther(t *testing.T) {
	t.Parallel()
	for point, fresh := range compactPoints {
		path := filepath.Join(memoryDir(t), "outbox.db")
		cmd, _, _ := child(t, "compact "+point, path)
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("%s: the process ended with %v", point, err)
		}
		if _, err := os.Stat(path + compacting); (err == nil) == fresh {
			t.Errorf("%s: of the new file there is %v", point, err)
		}
		s := open(t, path, Options{})
		if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
			t.Errorf("%s: left behind are %v", point, left)
		}
		if _, size := content(t, s); (size < compactLeast) != fresh {
			t.Errorf("%s: the file has %d bytes", point, size)
		}
		if st := s.Stats(); st.Ready != 30 || (st.Staged == 1) != (point == "written") {
			t.Errorf("%s: there are %+v", point, st)
		}
		all, err := s.List(Closed, 1000)
		if err != nil || len(all) != 300 {
			t.Errorf("%s: %d receipts are there, %v", point, len(all), err)
		}
		for i := 0; i < 330; i += 11 {
			got, err := s.Get(Ref{Ticket: fmt.Sprintf("host-%d/w48", i), ID: fmt.Sprint("intent ", i)})
			if err != nil || len(got.Channels["ops"].Body) != 100_000 {
				t.Errorf("%s: intent %d is %d bytes, %v", point, i, len(got.Channels["ops"].Body), err)
			}
		}
	}
}
