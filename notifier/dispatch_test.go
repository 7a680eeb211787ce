// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

func TestAWebhookIsSentMoreAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(ctx context.Context, _ send) channel.Result {
			<-ctx.Done()
			return channel.Result{Status: outbox.Unknown, Error: "no answer"}
		}, channel.Config{Name: "hook", Type: "webhook", URL: "http://127.0.0.1/"}, one("people"))
		w.putAll(names("h", 2*64), "hook", "people")
		w.Start()
		time.Sleep(time.Second)
		sent := map[string]int{}
		for _, s := range w.sent() {
			sent[s.channel]++
		}
		if sent["hook"] != 64 || sent["people"] != channel.DefaultWorkers {
			t.Errorf("at once are sent %v", sent)
		}
	})
}

func TestAHangingChannelDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(ctx context.Context, s send) channel.Result {
			if s.channel == "hangs" {
				<-ctx.Done()
				return channel.Result{Status: outbox.Unknown, Error: "no answer"}
			}
			return sentResult
		}, one("hangs"), one("ops"))
		// More than the lane and the window hold, and all of them due before the one that is to go out.
		w.putAll(names("h", maxQueue+channel.DefaultWorkers+2*window), "hangs")
		began := time.Now()
		w.put("w48", "ops")
		w.Start()
		time.Sleep(time.Second)
		var ops, hanging int
		for _, s := range w.sent() {
			if s.channel == "ops" {
				ops++
				if s.at.Sub(began) > 100*time.Millisecond {
					t.Errorf("it went out after %v", s.at.Sub(began))
				}
			} else {
				hanging++
			}
		}
		if ops != 1 || hanging != channel.DefaultWorkers {
			t.Errorf("sent %d, %d hang", ops, hanging)
		}
	})
}

func TestF18_PoisonDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(_ context.Context, s send) channel.Result {
			if strings.HasPrefix(s.Key, "web-01/poison") {
				return channel.Result{Status: outbox.Dead, Error: "HTTP 400"}
			}
			return sentResult
		}, one("ops"))
		w.putAll(names("poison", 200), "ops")
		good := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(time.Second)
		w.shutWith(good, map[string]outbox.Status{"ops": outbox.Sent})
	})
}

// What is in flight is not begun a second time, however often the outbox is looked at.
func TestF17_OneAttemptAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(context.Context, send) channel.Result {
			time.Sleep(9 * time.Second)
			return sentResult
		}, one("ops"))
		ref := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		for range 8 {
			time.Sleep(time.Second)
			if err := w.store.Postpone(ref, "ops", time.Now()); err != nil {
				t.Fatal(err)
			}
			w.wakeAt(time.Now())
		}
		time.Sleep(time.Minute)
		if len(w.asked()) != 1 || len(w.sent()) != 1 {
			t.Errorf("asked %d times, sent %d", len(w.asked()), len(w.sent()))
		}
	})
}

func TestBacklogLargerThanMemoryIsSentWhole(t *testing.T) {
	t.Parallel()
	t.Run("one channel", func(t *testing.T) { backlog(t, one("ops")) })
	t.Run("another that may miss something", func(t *testing.T) { backlog(t, one("ops"), one("chat")) })
}

func backlog(t *testing.T, channels ...channel.Config) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), channels...)
		want := map[string]int{}
		ids := names("w", maxQueue+channel.DefaultWorkers+window+100)
		for _, id := range ids {
			want["web-01/"+id]++
		}
		w.putAll(ids, "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(30 * time.Second) // less than longestNap
		got := map[string]int{}
		for _, s := range w.sent() {
			got[s.Key]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("sent %d of %d, or one twice", len(got), len(want))
		}
		if s := w.store.Stats(); s.Ready != 0 || w.inHand() != 0 || len(w.memos) != 0 {
			t.Errorf("left: %d ready, %d in memory, %d remembered", s.Ready, w.inHand(), len(w.memos))
		}
	})
}

// An outage costs few attempts: five open the breaker, and from then on one goes out every 10 s.
func TestF19_AnOutageBurnsNoAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := setup(t, func(context.Context, send) channel.Result {
			if time.Since(began) < 4*time.Minute {
				return channel.Result{Status: outbox.Pending, Error: "connection refused"}
			}
			return sentResult
		}, one("ops"))
		ids := names("w", 20)
		w.putAll(ids, "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(4*time.Minute - time.Second)
		if n := len(w.sent()); n < 20 || n > 4*6+channel.DefaultWorkers+breakAfter {
			t.Errorf("%d attempts in 4 min of outage", n)
		}
		time.Sleep(3 * time.Minute)
		for _, id := range ids {
			in := w.get(outbox.Ref{Ticket: "web-01/" + id, ID: id})
			if d := in.Channels["ops"]; in.Origin != outbox.Closed || d.Status != outbox.Sent {
				t.Errorf("%s is %s, %s", id, in.Origin, d.Status)
			}
		}
	})
}

func TestRateHoldsBackBeforeTheAttemptIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), channel.Config{Name: "ops", Rate: "20/m"})
		w.putAll(names("w", 100), "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(10 * time.Minute)
		sends := w.sent()
		if len(sends) != 100 || len(w.asked()) != 100 {
			t.Fatalf("%d sends, asked %d times", len(sends), len(w.asked()))
		}
		for i := 20; i < len(sends); i++ {
			if d := sends[i].at.Sub(sends[i-20].at); d < time.Minute {
				t.Errorf("21 within %v", d)
			}
		}
	})
}

// What was not sent uses up no rate.
func TestRateIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), channel.Config{Name: "ops", Rate: "1/h"})
		w.ask(func(outbox.Attempt) (outbox.Answer, error) {
			if len(w.attempts) < 3 {
				return outbox.Answer{Verdict: outbox.Busy, Wait: time.Second}, nil
			}
			return outbox.Answer{Verdict: outbox.Go}, nil
		})
		w.put("w48", "ops")
		w.Start()
		time.Sleep(5 * time.Second)
		if len(w.sent()) != 1 {
			t.Errorf("sent %d times, asked %d times", len(w.sent()), len(w.asked()))
		}
	})
}

// A look that was due when the outbox was read, and is not any more, does nothing.
func TestWhatWasPutOffMeanwhileWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		ref, began := w.put("w48", "ops"), time.Now()
		if err := w.store.Postpone(ref, "ops", began.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		w.Start()
		synctest.Wait()
		w.enqueue([]ranked{{Due: outbox.Due{Ref: ref, Channel: "ops", At: began}, in: w.get(ref)}})
		time.Sleep(2 * time.Minute)
		if got := w.sent(); len(got) != 1 || got[0].at.Sub(began) < time.Minute {
			t.Errorf("sent %+v", got)
		}
	})
}

// A crash loses what was in flight; the next process sends it again, with the same key and bytes.
func TestG9_RestartSendsAgainTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	open := func() *outbox.Store {
		store, err := outbox.Open(path, outbox.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	blocked := make(chan struct{})
	w := setupOn(t, store, func(ctx context.Context, _ send) channel.Result {
		close(blocked)
		<-ctx.Done()
		return channel.Result{Status: outbox.Unknown, Error: context.Cause(ctx).Error()}
	}, one("ops"))
	ref := w.put("w48", "ops")
	w.Start()
	<-blocked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Stop(ctx); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Stop says %v", err)
	}
	if d := w.get(ref).Channels["ops"]; d.Status != outbox.Unknown || d.Attempts != 1 || d.Error != channel.ErrStopping.Error() {
		t.Errorf("the outbox has %+v", d)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	store = open()
	defer store.Close()
	again := setupOn(t, store, always(sentResult), one("ops"))
	again.tells(settled)
	again.Start()
	again.untilShut(ref)
	first, second := w.sent(), again.sent()
	if len(first) != 1 || len(second) != 1 || first[0].Key != second[0].Key || string(first[0].Body) != string(second[0].Body) {
		t.Errorf("first %+v, then %+v", first, second)
	}
	if got := again.asked(); got[0].Number != 2 {
		t.Errorf("the attempt's number is %d", got[0].Number)
	}
	again.stop()
}
