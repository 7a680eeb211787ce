// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bufio"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

// The test binary runs itself for what must happen in a process that can be killed.
const (
	childRole = "PICKET_OUTBOX_TEST_ROLE"
	childFile = "PICKET_OUTBOX_TEST_FILE"
)

var roles = map[string]func(path string){}

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		roles[role](os.Getenv(childFile))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child starts the test binary in a role. Closing its standard input asks it to end; it is killed when the test ends.
func child(t *testing.T, role, path string) (*exec.Cmd, io.Closer, *bufio.Scanner) {
	t.Helper()
	cmd, in, out, err := childWith(t, role, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

func childWith(t *testing.T, role, path string, attr *syscall.SysProcAttr) (*exec.Cmd, io.Closer, *bufio.Scanner, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), childRole+"="+role, childFile+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, bufio.NewScanner(out), nil
}

// must is for the roles, where no testing.T is.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// setup opens a fresh outbox and checks its indexes when the test ends.
func setup(t *testing.T) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "outbox.db"), Options{})
}

// memoryDir is a folder where fsync costs nothing, if there is one, for tests that open very many files.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "picket-outbox-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func open(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := Open(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if t, ok := tb.(*testing.T); ok && !s.closed && s.broken == nil {
			verify(t, s)
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func newIntent(ticket string) Intent {
	asset, task, _ := strings.Cut(ticket, "/")
	return Intent{
		Ref: Ref{Ticket: ticket, ID: rand.Text()}, Asset: asset, Task: task, Run: 1, Key: ticket,
		At: time.Now(), Severity: "critical", Content: []byte(`{"title":"` + strings.Repeat("x", 400) + `"}`),
		Token: 1_796_000_000_000, Nonce: rand.Text(), Agent: "pid 4711",
		Channels: map[string]Delivery{"ops": {Type: "webhook", Status: Pending, Body: []byte(strings.Repeat("y", 600))}},
	}
}

// verify checks that every index has what the intents say, and nothing else.
func verify(t interface {
	Helper()
	Errorf(string, ...any)
}, s *Store,
) {
	t.Helper()
	want := map[string]map[string]bool{}
	for _, b := range buckets {
		want[string(b)] = map[string]bool{}
	}
	counts, waits := map[Origin]int{}, 0
	if err := s.view(func(t *tx) error {
		return t.Bucket(intentsBucket).ForEach(func(k, _ []byte) error {
			id, channel, isChannel := strings.Cut(string(k), "\x00")
			h, err := t.byID(id)
			if err != nil {
				return err
			}
			want["intents"][string(k)] = true
			if !isChannel {
				counts[h.Origin]++
				channels, err := t.channels(id)
				if err != nil {
					return err
				}
				if onlyWaits(h.Origin, channels) {
					waits++
				}
				want["tickets"][string(h.ticketKey())] = true
				want["order"][string(h.orderKey())] = true
				if h.Origin != Closed {
					want["bodies"][string(channelKey(id, ""))] = true
				}
				return nil
			}
			d, err := t.channel(id, channel)
			if err != nil {
				return err
			}
			if d.isDue(h.Origin) {
				want["due"][string(dueKey(d.Due, id, channel))] = true
			}
			if h.Origin != Closed && (!d.Status.Settled() || t.Bucket(bodiesBucket).Get(k) != nil) { // one that was closed lacks them
				want["bodies"][string(k)] = true
			}
			return nil
		})
	}); err != nil {
		t.Errorf("cannot read the intents: %v", err)
		return
	}
	if err := s.db.View(func(btx *bolt.Tx) error {
		for _, name := range buckets {
			left := want[string(name)]
			_ = btx.Bucket(name).ForEach(func(k, _ []byte) error {
				if !left[string(k)] {
					t.Errorf("%s has %q, which no intent stands behind", name, k)
				}
				delete(left, string(k))
				return nil
			})
			for k := range left {
				t.Errorf("%s lacks %q", name, k)
			}
		}
		return nil
	}); err != nil {
		t.Errorf("cannot read the indexes: %v", err)
	}
	if st := s.Stats(); st.Staged != counts[Staged] || st.Ready != counts[Committed]+counts[Adopted]-waits {
		t.Errorf("Stats says %+v of %v, of which %d wait for a person", st, counts, waits)
	}
}
