// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

func TestFailuresAreTriedAgainWithTheSameKeyAndBody(t *testing.T) {
	t.Parallel()
	results := []channel.Result{
		{Status: outbox.Pending, Error: "refused"},
		{Status: outbox.Unknown, Error: "no answer"},
		{Status: outbox.Pending, Error: "later", RetryAfter: 10 * time.Minute},
		{Status: outbox.Pending, Error: "500", Doubtful: true},
		sentResult,
	}
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		w := setup(t, func(context.Context, send) channel.Result { return results[n.Add(1)-1] }, one("ops"))
		ref := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(time.Hour)
		sends := w.sent()
		if len(sends) != len(results) {
			t.Fatalf("%d sends", len(sends))
		}
		for i, pause := range [][2]time.Duration{{500 * time.Millisecond, time.Second}, {time.Second, 2 * time.Second}, {10 * time.Minute, 10 * time.Minute}, {4 * time.Second, 8 * time.Second}} {
			if got := sends[i+1].at.Sub(sends[i].at); got < pause[0] || got > pause[1]+time.Millisecond {
				t.Errorf("pause %d is %v, want %v", i, got, pause)
			}
			if sends[i+1].Key != sends[0].Key || string(sends[i+1].Body) != string(sends[0].Body) {
				t.Errorf("send %d is another: %+v", i+1, sends[i+1])
			}
		}
		var numbers []int
		var statuses []outbox.Status
		for _, o := range w.told() {
			numbers, statuses = append(numbers, o.Number), append(statuses, o.Status)
		}
		if !slices.Equal(numbers, []int{1, 2, 3, 4, 5}) ||
			!slices.Equal(statuses, []outbox.Status{outbox.Pending, outbox.Unknown, outbox.Pending, outbox.Pending, outbox.Sent}) {
			t.Errorf("told %v, %v", numbers, statuses)
		}
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
	})
}

func TestAtMostOnceIsNeverSentAgainWhenItMayHaveArrived(t *testing.T) {
	t.Parallel()
	for _, first := range []channel.Result{{Status: outbox.Unknown}, {Status: outbox.Pending, Doubtful: true}} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, always(first), once("ops"))
			ref := w.put("w48", "ops")
			w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
				switch told := w.outcomes; {
				case a.Number == 1:
					return outbox.Answer{Verdict: outbox.Go}, nil
				case len(told) == 1 && told[0].Status == outbox.Unknown:
					return outbox.Answer{Verdict: outbox.Park}, nil
				}
				t.Errorf("asked for attempt %d after %+v", a.Number, w.outcomes)
				return outbox.Answer{}, errStore
			})
			w.Start()
			time.Sleep(time.Second)
			w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Parked})
			if len(w.sent()) != 1 {
				t.Errorf("sent %d times", len(w.sent()))
			}
		})
	}
	// A failure of which it is known that nothing arrived is tried again.
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		w := setup(t, func(context.Context, send) channel.Result {
			return []channel.Result{{Status: outbox.Pending}, sentResult}[n.Add(1)-1]
		}, once("ops"))
		ref := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
	})
}

// The ticket learns of a known failure before the next attempt, or an at_most_once channel would be parked for nothing.
func TestAnUntoldFailureIsToldBeforeTheNextAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		w := setup(t, func(context.Context, send) channel.Result {
			return []channel.Result{{Status: outbox.Pending}, sentResult}[n.Add(1)-1]
		}, once("ops"))
		began := time.Now()
		w.put("w48", "ops")
		w.tells(func(o outbox.Outcome) (bool, error) {
			if time.Since(began) < 30*time.Second {
				return false, outbox.ErrAway
			}
			return o.Status.Settled(), nil
		})
		w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
			if a.Number == 2 && (len(w.outcomes) != 1 || w.outcomes[0].Number != 1) {
				t.Errorf("attempt 2 is asked for after %+v", w.outcomes)
			}
			return outbox.Answer{Verdict: outbox.Go}, nil
		})
		w.Start()
		time.Sleep(2 * time.Minute)
		if len(w.sent()) != 2 {
			t.Errorf("sent %d times", len(w.sent()))
		}
	})
}

func TestG9_AnOutcomeIsBroughtToTheTicketUntilItIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		ref := w.put("w48", "ops")
		began := time.Now()
		var tries atomic.Int32
		w.tells(func(outbox.Outcome) (bool, error) {
			tries.Add(1)
			if time.Since(began) < 10*time.Minute {
				return false, outbox.ErrAway
			}
			return true, nil
		})
		w.Start()
		time.Sleep(10*time.Minute - time.Second)
		if in, n := w.get(ref), tries.Load(); in.Origin != outbox.Committed || n < 50 || n > 150 {
			t.Errorf("the intent is %s after %d tries", in.Origin, n)
		}
		time.Sleep(12 * time.Second)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
		if got := w.told(); len(w.sent()) != 1 || len(got) != 1 || got[0].At.Sub(began) != 0 {
			t.Errorf("%d sends, told %+v", len(w.sent()), got)
		}
	})
}

func TestIntentIsShutWithItsLastChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(_ context.Context, s send) channel.Result {
			switch {
			case s.channel == "slow" && time.Since(s.at) == 0:
				time.Sleep(5 * time.Second)
			case s.channel == "bad":
				return channel.Result{Status: outbox.Dead, Error: "HTTP 404"}
			}
			return sentResult
		}, one("fast"), one("slow"), one("bad"))
		ref := w.put("w48", "fast", "slow", "bad")
		w.Start()
		time.Sleep(time.Second)
		if in := w.get(ref); in.Origin != outbox.Committed || !in.Channels["fast"].Recorded || in.Channels["fast"].Body == nil {
			t.Errorf("with one channel open the intent is %s, %+v", in.Origin, in.Channels["fast"])
		}
		time.Sleep(time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"fast": outbox.Sent, "slow": outbox.Sent, "bad": outbox.Dead})
	})
}

// When an operator discards the ticket's notification, its other channels do not wait for their backoff to hear of it.
func TestClosedTicketIsHeardOfByTheOtherChannels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(_ context.Context, s send) channel.Result {
			if s.channel == "later" {
				return channel.Result{Status: outbox.Pending, RetryAfter: 40 * time.Minute}
			}
			time.Sleep(10 * time.Second)
			return sentResult
		}, one("ops"), one("later"))
		ref := w.put("w48", "ops", "later")
		w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
			if a.Number > 1 {
				return outbox.Answer{Verdict: outbox.Superseded}, nil
			}
			return outbox.Answer{Verdict: outbox.Go}, nil
		})
		w.tells(settled)
		w.Start()
		time.Sleep(11 * time.Second)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent, "later": outbox.Pending})
	})
}

// A receipt that comes in while another channel finds the intent superseded still comes to the ticket.
func TestReceiptOfASupersededIntentIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, func(context.Context, send) channel.Result {
			time.Sleep(5 * time.Second)
			return sentResult
		}, one("slow"), one("other"))
		ref := w.put("w48", "slow", "other")
		var asked atomic.Bool
		w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
			if a.Channel == "other" {
				if !asked.Swap(true) { // the slow one begins first
					return outbox.Answer{Verdict: outbox.Busy, Wait: time.Second}, nil
				}
				return outbox.Answer{Verdict: outbox.Superseded}, nil
			}
			return outbox.Answer{Verdict: outbox.Go}, nil
		})
		w.tells(func(o outbox.Outcome) (bool, error) {
			if time.Since(o.At) < 3*time.Second {
				return false, outbox.ErrAway
			}
			return true, nil
		})
		w.Start()
		time.Sleep(time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"slow": outbox.Sent, "other": outbox.Pending})
		if got := w.told(); len(got) != 1 || got[0].Channel != "slow" {
			t.Errorf("told %+v", got)
		}
	})
}

func TestGiveUpMakesAChannelDeadAfterALastTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(channel.Result{Status: outbox.Pending, Error: "HTTP 503"}), one("ops"))
		w.Notifier.RetryMax = 25 * time.Minute
		ref := w.put("w48", "ops")
		began := time.Now()
		w.tells(settled)
		w.Start()
		time.Sleep(w.GiveUp + time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Dead})
		d, sends := w.get(ref).Channels["ops"], w.sent()
		age, want, tries := sends[len(sends)-1].at.Sub(began), "HTTP 503", len(sends)
		if age < w.GiveUp { // its channel was closed when its time was over, because of that try
			want, tries = "the channel could not be used: HTTP 503", len(sends)+1
		}
		if age < w.GiveUp-probeEvery || age > w.GiveUp+time.Second {
			t.Errorf("the last try was after %v", age)
		}
		if d.Error != "given up, it was not accepted within 1h0m0s: "+want || d.Attempts != tries {
			t.Errorf("%q after %d attempts, %d sends", d.Error, d.Attempts, len(sends))
		}
	})
}

// A breaker that never closes does not keep what is too old; the ticket is asked, and learns of it.
func TestGiveUpNeedsNoChannelThatWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(channel.Result{Status: outbox.Pending, Error: "HTTP 503"}), one("ops"))
		w.Notifier.GiveUp = 3 * time.Minute
		ids := names("w", 20)
		w.putAll(ids, "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(5 * time.Minute)
		for _, id := range ids {
			w.shutWith(refOf(id), map[string]outbox.Status{"ops": outbox.Dead})
		}
		told := map[string]int{}
		for _, o := range w.told() {
			if o.Status == outbox.Dead {
				told[o.ID]++
			}
		}
		if len(told) != len(ids) || len(w.sent()) > 3*6+channel.DefaultWorkers+breakAfter {
			t.Errorf("%d sends, told %v", len(w.sent()), told)
		}
	})
}

// A full disk after a good send: no send again, the ticket learns of it, and the outcome is written when it can be.
func TestAnOutcomeThatCannotBeWrittenIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		full := &fullDisk{Store: w.store}
		full.is.Store(true)
		w.box = full
		ref := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(time.Hour)
		if n := full.tries.Load(); len(w.sent()) != 1 || len(w.told()) != 1 || n < 200 || n > 1000 {
			t.Errorf("%d sends, %d outcomes told, %d writes tried", len(w.sent()), len(w.told()), n)
		}
		full.is.Store(false)
		time.Sleep(persistMax)
		synctest.Wait()
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
		if len(w.sent()) != 1 {
			t.Errorf("sent %d times", len(w.sent()))
		}
	})
}

// fullDisk is an outbox whose writes fail.
type fullDisk struct {
	*outbox.Store
	is    atomic.Bool
	tries atomic.Int32
}

func (f *fullDisk) write(do func() error) error {
	if f.is.Load() {
		f.tries.Add(1)
		return errStore
	}
	return do()
}

func (f *fullDisk) Begin(ref outbox.Ref, channel string, number int) error {
	return f.write(func() error { return f.Store.Begin(ref, channel, number) })
}

func (f *fullDisk) Record(o outbox.Outcome, due time.Time, recorded bool) error {
	return f.write(func() error { return f.Store.Record(o, due, recorded) })
}

func (f *fullDisk) Recorded(ref outbox.Ref, channel string) error {
	return f.write(func() error { return f.Store.Recorded(ref, channel) })
}

func (f *fullDisk) Postpone(ref outbox.Ref, channel string, due time.Time) error {
	return f.write(func() error { return f.Store.Postpone(ref, channel, due) })
}

func (f *fullDisk) Shut(ref outbox.Ref, recorded ...string) error {
	return f.write(func() error { return f.Store.Shut(ref, recorded...) })
}

// On an at_most_once channel nothing goes out whose beginning could not be written.
func TestAtMostOnceIsNotSentWithAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), once("ops"))
		full := &fullDisk{Store: w.store}
		full.is.Store(true)
		w.box = full
		ref := w.put("w48", "ops")
		w.tells(settled)
		w.Start()
		time.Sleep(time.Minute)
		if got := w.told(); len(w.sent()) != 0 || len(got) != 1 || got[0].Status != outbox.Pending {
			t.Errorf("%d sends, told %+v", len(w.sent()), got)
		}
		full.is.Store(false)
		time.Sleep(time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
	})
}
