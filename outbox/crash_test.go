// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// crashIntent is the same in the process that is killed and in the one that looks.
func crashIntent(id string, channels ...string) Intent {
	in := Intent{
		Ref: Ref{Ticket: "web-01/w48", ID: id}, Asset: "web-01", Task: "w48", Run: 1, Key: "web-01/w48",
		At: time.Unix(1_700_000_000, 0).UTC(), Severity: "high", Content: []byte("content of " + id),
		Token: 7, Nonce: "nonce of " + id, Channels: map[string]Delivery{},
	}
	for _, name := range channels {
		in.Channels[name] = Delivery{
			Type: "webhook", AtMostOnce: name == "once", Status: Pending, Due: in.At,
			Body: []byte(strings.Repeat("body of "+id+" ", 100)),
		}
	}
	return in
}

// crashRows are the rows of doc.go's table as far as the file knows them: the calls before the crash, and what is found.
var crashRows = []struct {
	row    string
	calls  func(s *Store, in Intent)
	origin Origin // empty: nothing is there
	ops    Status
	once   Status
	due    int
}{
	{row: "C1", calls: func(*Store, Intent) {}},
	{row: "C2_C3_C4", calls: func(s *Store, in Intent) {
		must(s.Stage(in))
	}, origin: Staged, ops: Pending, once: Pending},
	{row: "C2_discarded", calls: func(s *Store, in Intent) {
		must(s.Stage(in))
		must(s.Drop(in.Ref))
	}},
	{row: "C5_C6_C7", calls: func(s *Store, in Intent) {
		must(s.Stage(in))
		must(s.Commit(in.Ref))
	}, origin: Committed, ops: Pending, once: Pending, due: 2},
	{row: "C8", calls: func(s *Store, in Intent) {
		must(s.Adopt(in))
		must(s.Begin(in.Ref, "once", 1))
	}, origin: Adopted, ops: Pending, once: Sending, due: 2},
	{row: "C10", calls: func(s *Store, in Intent) {
		must(s.Adopt(in))
		must(s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: in.At}, in.At, false))
		must(s.Record(Outcome{Ref: in.Ref, Channel: "once", Number: 1, Status: Dead, At: in.At}, in.At, true))
	}, origin: Adopted, ops: Sent, once: Dead, due: 1},
	{row: "C12", calls: func(s *Store, in Intent) {
		must(s.Adopt(in))
		must(s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: in.At}, in.At, false))
		must(s.Shut(in.Ref))
	}, origin: Closed, ops: Sent, once: Pending, due: 1},
	{row: "C12_recorded", calls: func(s *Store, in Intent) {
		must(s.Adopt(in))
		must(s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: in.At}, in.At, false))
		must(s.Shut(in.Ref))
		must(s.Recorded(in.Ref, "ops"))
	}, origin: Closed, ops: Sent, once: Pending},
}

func init() {
	for _, row := range crashRows {
		roles[row.row] = func(path string) {
			s, err := Open(path, Options{})
			must(err)
			row.calls(s, crashIntent("crashed", "ops", "once"))
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		}
	}
}

func TestCrashBetweenCalls(t *testing.T) {
	t.Parallel()
	for _, row := range crashRows {
		t.Run(row.row, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "outbox.db")
			cmd, _, _ := child(t, row.row, path)
			if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Fatalf("the process ended with %v", err)
			}
			s := open(t, path, Options{})
			in := crashIntent("crashed", "ops", "once")
			all, err := s.Ticket(in.Ticket)
			if row.origin == "" {
				if err != nil || len(all) != 0 || s.Stats() != (Stats{}) {
					t.Errorf("found are %+v, %v", all, err)
				}
				return
			}
			got, err := s.Get(in.Ref)
			if err != nil || len(all) != 1 || got.Origin != row.origin {
				t.Fatalf("found is %+v, %v", got, err)
			}
			if ops, once := got.Channels["ops"], got.Channels["once"]; ops.Status != row.ops || once.Status != row.once || !once.AtMostOnce {
				t.Errorf("the channels are %+v and %+v", ops, once)
			}
			whole := string(got.Content) == string(in.Content) && string(got.Channels["ops"].Body) == string(in.Channels["ops"].Body)
			if whole == (row.origin == Closed) {
				t.Errorf("its content is %q", got.Content)
			}
			if due, _, err := s.Due(time.Now(), 10); err != nil || len(due) != row.due {
				t.Errorf("due are %+v, %v", due, err)
			}
			if _, ok, err := s.Receipt(in.Ticket, 1, "ops"); err != nil || ok != (row.ops == Sent) {
				t.Errorf("there is a receipt: %v, %v", ok, err)
			}
		})
	}
}

// The steps of the storm, each of which is printed once its call has returned.
var storm = []func(*Store, Intent) error{
	func(s *Store, in Intent) error { return s.Stage(in) },
	func(s *Store, in Intent) error { return s.Commit(in.Ref) },
	func(s *Store, in Intent) error { return s.Begin(in.Ref, "ops", 1) },
	func(s *Store, in Intent) error {
		return s.Record(Outcome{Ref: in.Ref, Channel: "ops", Number: 1, Status: Sent, At: in.At}, in.At, false)
	},
	func(s *Store, in Intent) error { return s.Shut(in.Ref) },
	func(s *Store, in Intent) error { return s.Recorded(in.Ref, "ops") },
}

// stormStep tells how many of the steps an intent shows.
func stormStep(in Intent) int {
	d := in.Channels["ops"]
	switch {
	case in.Origin == Staged:
		return 1
	case in.Origin == Closed && d.Recorded:
		return 6
	case in.Origin == Closed:
		return 5
	case d.Status == Sent:
		return 4
	case d.Status == Sending:
		return 3
	}
	return 2
}

func init() {
	roles["storm"] = func(path string) {
		s, err := Open(path, Options{})
		must(err)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					in := crashIntent(fmt.Sprintf("%d-%d-%d", os.Getpid(), worker, n), "ops")
					for i, step := range storm {
						must(step(s, in))
						fmt.Printf("%s %d\n", in.ID, i+1) // one write, so that lines stay whole
					}
				}
			})
		}
		wg.Wait()
	}
}

// What a call answered for is there after SIGKILL at any moment, whole, and at most one step further than was told. (C13)
func TestCrashDuringWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	told := map[string]int{}
	id := ""
	for round := range 12 {
		cmd, _, out := child(t, "storm", path)
		for range 20 + rand.IntN(300) {
			if !out.Scan() {
				t.Fatal("the storm ended by itself")
			}
			note(t, told, out.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() {
			note(t, told, out.Text())
		}
		_ = cmd.Wait()

		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			id = s.ID()
		}
		if s.ID() != id {
			t.Errorf("its identity was %s and is %s", id, s.ID())
		}
		verify(t, s)
		all, err := s.Ticket("web-01/w48")
		if err != nil || len(all) < len(told) {
			t.Fatalf("%d intents are there, and %d were told, %v", len(all), len(told), err)
		}
		for _, in := range all {
			step := stormStep(in)
			if step < told[in.ID] || step > told[in.ID]+1 {
				t.Errorf("of %s step %d was told, and %d is there", in.ID, told[in.ID], step)
			}
			told[in.ID] = step
			got, err := s.Get(in.Ref)
			want := crashIntent(in.ID, "ops")
			if err != nil || step < 5 && (string(got.Content) != string(want.Content) || string(got.Channels["ops"].Body) != string(want.Channels["ops"].Body)) {
				t.Errorf("of %s the content is %q, %v", in.ID, got.Content, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func note(t *testing.T, told map[string]int, line string) {
	t.Helper()
	id, step, ok := strings.Cut(line, " ")
	n, err := strconv.Atoi(step)
	if !ok || err != nil || n != told[id]+1 {
		t.Fatalf("the storm says %q after step %d", line, told[id])
	}
	told[id] = n
}
