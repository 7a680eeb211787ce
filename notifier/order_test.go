// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// accept makes n intents of a user ready on ops, which are named after the user.
func (w *world) accept(user, severity string, n int) {
	w.t.Helper()
	var g errgroup.Group
	g.SetLimit(64)
	for i := range n {
		id := fmt.Sprintf("%s-%04d", user, i)
		g.Go(func() error {
			in := outbox.Intent{
				Ref: refOf(id), Asset: "web-01", Task: id, Run: 1, Key: "web-01/" + id, At: time.Now().Add(time.Duration(i)), User: user,
				Severity: severity, Content: []byte(`{}`), Channels: map[string]outbox.Delivery{
					"ops": {Type: "log", Status: outbox.Pending, Body: []byte("x"), Due: time.Now()},
				},
			}
			if err := w.store.Stage(in); err != nil {
				return err
			}
			return w.store.Commit(in.Ref)
		})
	}
	if err := g.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// senders are the users of what was sent from position from on.
func (w *world) senders(from int) (users []string) {
	for _, s := range w.sent()[from:] {
		user, _, _ := strings.Cut(strings.TrimPrefix(s.Key, "web-01/"), "-")
		users = append(users, user)
	}
	return users
}

// One user's hundreds of notes do not keep another's alarm from a chat with a rate, nor a third's note.
func TestARateIsForTheWorstFirstAndForUsersInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), channel.Config{Name: "ops", Rate: "10/m"})
		w.accept("many", "info", 300)
		w.Start()
		time.Sleep(90 * time.Second) // 20 have passed
		before := len(w.sent())
		w.accept("alarm", "critical", 3)
		w.accept("few", "info", 4)
		time.Sleep(time.Minute)
		got := w.senders(before)
		n := map[string]int{}
		for _, user := range got { // those that pass in one moment do so in any order
			n[user]++
		}
		if len(got) != 10 || n["alarm"] != 3 || n["few"] < 3 || n["many"] < 3 {
			t.Fatalf("after %d, the next are of %v", before, n)
		}
		time.Sleep(26*time.Minute + 30*time.Second) // 10 a minute, with nothing lost on waiting
		if n := len(w.sent()); n < 280 {
			t.Errorf("%d were sent in 29 minutes", n)
		}
	})
}

// What is urgent goes first though a slow receiver has more before it than what fits into memory.
func TestWhatIsUrgentPassesAFullLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, send) channel.Result {
			time.Sleep(10 * time.Second)
			return sentResult
		}
		w := setup(t, slow, one("ops"))
		w.accept("many", "info", maxQueue+window+800)
		w.Start()
		time.Sleep(5 * time.Second)
		w.accept("alarm", "critical", 1)
		time.Sleep(20 * time.Second)
		if got := w.senders(0); !slices.Contains(got, "alarm") || len(got) > 5*channel.DefaultWorkers {
			t.Errorf("of %d that were sent, none is the alarm", len(got))
		}
	})
}

// The time that a rate tells one with others ahead is the time at which it would pass after them.
func TestARateTellsWhenOnesTurnComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &rate{Rate: channel.Rate{N: rapid.IntRange(1, 5).Draw(t, "n"), Period: time.Minute}}
		now := time.Now()
		for range rapid.IntRange(0, 10).Draw(t, "passed") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			r.admit(now)
		}
		ahead := rapid.IntRange(0, 12).Draw(t, "ahead")
		told, at := r.wait(now, ahead), now
		for range ahead + 1 {
			for wait := r.admit(at); wait > 0; wait = r.admit(at) {
				at = at.Add(wait)
			}
		}
		if got := at.Sub(now); told != got {
			t.Fatalf("told %v, it is %v", told, got)
		}
	})
}

// A line that is full keeps the best, and one that never comes back holds nobody up.
func TestALineOfThoseThatWait(t *testing.T) {
	t.Parallel()
	var l line
	rs := rates{{Rate: channel.Rate{N: 1, Period: time.Minute}}}
	now := time.Now()
	at := func(i, severity int) waiting {
		return waiting{key: key{fmt.Sprint(i), "ops"}, rank: rank{severity: severity, turn: int64(i)}}
	}
	if wait, _ := l.admit(now, rs, at(0, 0)); wait != 0 {
		t.Fatalf("the first waits %v", wait)
	}
	for i := range longestLine {
		l.admit(now, rs, at(i+1, 0))
	}
	if _, inLine := l.admit(now, rs, at(longestLine+1, 0)); inLine {
		t.Error("a full line takes one more")
	}
	if wait, inLine := l.admit(now, rs, at(longestLine+2, 4)); !inLine || wait != time.Minute || len(l.all) != longestLine || len(l.by) != longestLine {
		t.Errorf("the worst one waits %v, in line %t, of %d and %d", wait, inLine, len(l.all), len(l.by))
	}
	now = now.Add(time.Minute)
	if wait, _ := l.admit(now, rs, at(1, 0)); wait != time.Minute {
		t.Errorf("behind a better one that is due, the next waits %v", wait)
	}
	now = now.Add(grace + time.Millisecond)
	if wait, _ := l.admit(now, rs, at(1, 0)); wait != 0 {
		t.Errorf("behind one that did not come, the next waits %v", wait)
	}
}
