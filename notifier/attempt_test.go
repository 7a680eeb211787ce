// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

func one(name string) channel.Config  { return channel.Config{Name: name} }
func once(name string) channel.Config { return channel.Config{Name: name, AtMostOnce: true} }

// settled is a ticket that needs nothing more after the outcome.
func settled(o outbox.Outcome) (bool, error) { return o.Status.Settled(), nil }

func TestAttemptIsAskedSentRecordedToldAndShut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, nil, one("ops"))
		ref := w.put("w48", "ops")
		w.gates["ops"].Sender = fakeSender{w.gates["ops"].Sender, w, "ops", func(context.Context, send) channel.Result {
			if len(w.told()) > 0 {
				t.Error("told before it was sent")
			}
			return sentResult
		}}
		w.tells(func(o outbox.Outcome) (bool, error) {
			if d := w.get(ref).Channels["ops"]; d.Status != outbox.Sent || d.Recorded {
				t.Errorf("when the ticket is told, the outbox has %s, recorded %v", d.Status, d.Recorded)
			}
			return true, nil
		})
		w.Start()
		synctest.Wait()

		want := outbox.Attempt{
			Ref: ref, Asset: "web-01", Task: "w48", Run: 1, At: w.get(ref).At, Channel: "ops", Number: 1,
			Lease: channel.DefaultTimeout + leaseSlack,
		}
		if got := w.asked(); len(got) != 1 || got[0] != want {
			t.Errorf("asked %+v", got)
		}
		if got := w.sent(); len(got) != 1 || got[0].Key != "web-01/w48" || string(got[0].Body) != "body of w48" {
			t.Errorf("sent %+v", got)
		}
		told := w.told()
		if len(told) != 1 || told[0].Status != outbox.Sent || told[0].Number != 1 || told[0].Key != "web-01/w48" || told[0].Ref != ref {
			t.Errorf("told %+v", told)
		}
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
	})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		channel channel.Config
		origin  outbox.Origin
		answer  outbox.Answer
		err     error
		sends   int
		status  outbox.Status // in the outbox afterwards
		origin2 outbox.Origin
		told    []outbox.Status
	}{
		"done, sent by another":        {one("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Done, Status: outbox.Sent}, nil, 0, outbox.Sent, outbox.Closed, nil},
		"done, discarded":              {one("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Done, Status: outbox.Discarded}, nil, 0, outbox.Discarded, outbox.Closed, nil},
		"superseded":                   {one("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Superseded}, nil, 0, outbox.Pending, outbox.Closed, nil},
		"park":                         {once("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Park}, nil, 0, outbox.Parked, outbox.Committed, nil},
		"lost is sent all the same":    {one("c"), outbox.Adopted, outbox.Answer{Verdict: outbox.Lost}, nil, 1, outbox.Sent, outbox.Closed, []outbox.Status{outbox.Sent}},
		"lost, at_most_once":           {once("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Lost}, nil, 0, outbox.Parked, outbox.Committed, []outbox.Status{outbox.Parked}},
		"lost, at_most_once, sole":     {once("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Lost, Sole: true}, nil, 1, outbox.Sent, outbox.Closed, []outbox.Status{outbox.Sent}},
		"lost, at_most_once, a copy":   {once("c"), outbox.Adopted, outbox.Answer{Verdict: outbox.Lost, Sole: true}, nil, 0, outbox.Parked, outbox.Adopted, []outbox.Status{outbox.Parked}},
		"away, committed":              {one("c"), outbox.Committed, outbox.Answer{}, outbox.ErrAway, 1, outbox.Sent, outbox.Closed, []outbox.Status{outbox.Sent}},
		"away, a copy":                 {one("c"), outbox.Adopted, outbox.Answer{}, outbox.ErrAway, 0, outbox.Pending, outbox.Adopted, nil},
		"away, at_most_once":           {once("c"), outbox.Committed, outbox.Answer{}, outbox.ErrAway, 0, outbox.Pending, outbox.Committed, nil},
		"an error":                     {one("c"), outbox.Committed, outbox.Answer{}, errStore, 0, outbox.Pending, outbox.Committed, nil},
		"no verdict":                   {one("c"), outbox.Committed, outbox.Answer{}, nil, 0, outbox.Pending, outbox.Committed, nil},
		"done, but not settled at all": {one("c"), outbox.Committed, outbox.Answer{Verdict: outbox.Done, Status: outbox.Pending}, nil, 0, outbox.Pending, outbox.Committed, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := setup(t, always(sentResult), tt.channel)
				ref := w.putAs(tt.origin, "w48", "c")
				w.says(tt.answer, tt.err)
				w.tells(settled)
				w.Start()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				w.stop()

				in := w.get(ref)
				if d := in.Channels["c"]; len(w.sent()) != tt.sends || d.Status != tt.status || in.Origin != tt.origin2 {
					t.Errorf("%d sends, the intent is %s, the channel %s", len(w.sent()), in.Origin, d.Status)
				}
				var told []outbox.Status
				for _, o := range w.told() {
					told = append(told, o.Status)
				}
				if !slices.Equal(told, tt.told) {
					t.Errorf("told %v, want %v", told, tt.told)
				}
				// What is not settled is asked about again, but not without pause.
				if n := len(w.asked()); tt.status.Settled() != (n == 1) && in.Origin != outbox.Closed || in.Origin == outbox.Closed && n != 1 || !tt.status.Settled() && in.Origin != outbox.Closed && (n < 30 || n > 80) {
					t.Errorf("asked %d times in 5 min", n)
				}
				if d := in.Channels["c"]; tt.sends == 0 && d.Attempts != 0 && tt.status != outbox.Parked {
					t.Errorf("%d attempts were counted", d.Attempts)
				}
			})
		})
	}
}

func TestBusyLooksAgainWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		ref := w.put("w48", "ops")
		began := time.Now()
		w.ask(func(outbox.Attempt) (outbox.Answer, error) {
			if time.Since(began) < 7*time.Second {
				return outbox.Answer{Verdict: outbox.Busy, Wait: 7*time.Second - time.Since(began)}, nil
			}
			return outbox.Answer{Verdict: outbox.Go}, nil
		})
		w.tells(settled)
		w.Start()
		time.Sleep(time.Minute)
		if got := w.sent(); len(got) != 1 || got[0].at.Sub(began) < 7*time.Second || got[0].at.Sub(began) > 8*time.Second {
			t.Errorf("sent %+v", got)
		}
		if got := w.asked(); len(got) != 2 || got[1].Number != 1 {
			t.Errorf("a busy attempt was counted: %+v", got)
		}
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
	})
}

// While Redis is away, a committed intent goes out without being asked for, but not while another's lease may be alive that
// was seen.
func TestG10_AwayWaitsForALeaseThatWasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		w.put("w48", "ops")
		began := time.Now()
		w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
			if time.Since(began) == 0 {
				return outbox.Answer{Verdict: outbox.Busy, Wait: 20 * time.Second}, nil
			}
			return outbox.Answer{}, outbox.ErrAway
		})
		w.tells(settled)
		w.Start()
		time.Sleep(time.Second)
		// Something makes the intent due before the lease is over.
		if err := w.store.Postpone(outbox.Ref{Ticket: "web-01/w48", ID: "w48"}, "ops", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(18 * time.Second)
		if len(w.asked()) < 2 || len(w.sent()) != 0 {
			t.Fatalf("asked %d times, sent %d", len(w.asked()), len(w.sent()))
		}
		time.Sleep(20 * time.Second)
		if len(w.sent()) != 1 {
			t.Errorf("sent %d times", len(w.sent()))
		}
	})
}

// What an administrator decided while the question was under way is a fact in the outbox, and holds where the ticket does not decide.
func TestG10_WhatWasDecidedMeanwhileIsNotSentWithoutTheTicket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer outbox.Answer
		err    error
	}{{outbox.Answer{}, outbox.ErrAway}, {outbox.Answer{Verdict: outbox.Lost}, nil}} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, always(sentResult), one("ops"))
			ref := w.put("w48", "ops")
			w.ask(func(outbox.Attempt) (outbox.Answer, error) {
				if err := w.store.Decide(ref, map[string]outbox.Status{"ops": outbox.Discarded}); err != nil {
					t.Error(err)
				}
				return c.answer, c.err
			})
			w.Start()
			time.Sleep(time.Minute)
			w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Discarded})
			if len(w.sent()) != 0 || len(w.told()) != 0 {
				t.Errorf("sent %d times, told %+v", len(w.sent()), w.told())
			}
		})
	}
}

func TestG10_WhatRedisLostIsNotSentWhenItIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		ref := w.put("w48", "ops")
		time.Sleep(w.config.GiveUp)
		w.says(outbox.Answer{Verdict: outbox.Lost}, nil)
		w.tells(settled)
		w.Start()
		time.Sleep(time.Minute)
		w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Dead})
		if len(w.sent()) != 0 {
			t.Errorf("sent %d times", len(w.sent()))
		}
	})
}

// A daemon that freezes while nobody answers asks again when it wakes, and so does one that sent nothing until give_up.
func TestG10_AwayIsAskedAgainAfterAFreeze(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		w.put("w48", "ops")
		began := time.Now()
		w.ask(func(outbox.Attempt) (outbox.Answer, error) {
			if time.Since(began) == 0 {
				time.Sleep(10 * time.Minute)
				return outbox.Answer{}, outbox.ErrAway
			}
			return outbox.Answer{Verdict: outbox.Superseded}, nil
		})
		w.Start()
		time.Sleep(time.Hour)
		if len(w.sent()) != 0 || len(w.asked()) != 2 {
			t.Errorf("asked %d times, sent %d", len(w.asked()), len(w.sent()))
		}
	})
}

func TestG10_AwayIsNoReasonToSendWhatIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"))
		ref := w.put("w48", "ops")
		time.Sleep(w.config.GiveUp)
		w.says(outbox.Answer{}, outbox.ErrAway)
		w.Start()
		time.Sleep(time.Minute)
		if d := w.get(ref).Channels["ops"]; len(w.sent()) != 0 || len(w.asked()) < 2 || d.Status != outbox.Pending {
			t.Errorf("asked %d times, sent %d, it is %s", len(w.asked()), len(w.sent()), d.Status)
		}
	})
}

// The daemon freezes between the question and the first byte: what is left of the lease is looked at once more.
func TestG10_NothingIsSentWhenTheLeaseHasRunOut(t *testing.T) {
	t.Parallel()
	for _, cc := range []channel.Config{one("ops"), once("ops")} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, always(sentResult), cc)
			ref := w.put("w48", "ops")
			w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
				if a.Number == 1 {
					time.Sleep(leaseSlack + time.Millisecond) // counted from before the question was asked
				}
				return outbox.Answer{Verdict: outbox.Go}, nil
			})
			w.tells(func(o outbox.Outcome) (bool, error) {
				if o.Number == 1 && (o.Status != outbox.Pending || len(w.sends) > 0) {
					t.Errorf("told %+v after %d sends", o, len(w.sends))
				}
				return o.Status.Settled(), nil
			})
			w.Start()
			time.Sleep(time.Minute)
			if got := w.sent(); len(got) != 1 {
				t.Errorf("sent %d times", len(got))
			}
			if got := w.told(); len(got) != 2 || got[1].Number != 2 {
				t.Errorf("told %+v", got)
			}
			w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
		})
	}
}

func TestAtMostOnceIsInTheOutboxBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	w := setup(t, nil, once("ops"))
	ref := w.put("w48", "ops")
	w.gates["ops"].Sender = fakeSender{w.gates["ops"].Sender, w, "ops", func(context.Context, send) channel.Result {
		if d := w.get(ref).Channels["ops"]; d.Status != outbox.Sending || d.Attempts != 1 {
			t.Errorf("during the send the outbox has %s, attempt %d", d.Status, d.Attempts)
		}
		return sentResult
	}}
	w.tells(settled)
	w.Start()
	w.untilShut(ref)
	w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Sent})
}

// What the outbox knows to have begun is not sent again, even if the ticket fell back to before the attempt.
func TestG10_AtMostOnceIsParkedWhenTheOutboxKnowsOfAnAttempt(t *testing.T) {
	t.Parallel()
	w := setup(t, always(sentResult), once("ops"))
	ref := w.put("w48", "ops")
	if err := w.store.Begin(ref, "ops", 1); err != nil {
		t.Fatal(err)
	}
	w.tells(settled)
	w.Start()
	w.untilShut(ref)
	w.shutWith(ref, map[string]outbox.Status{"ops": outbox.Parked})
	if got := w.told(); len(w.sent()) != 0 || len(got) != 1 || got[0].Status != outbox.Parked || got[0].Number != 2 {
		t.Errorf("%d sends, told %+v", len(w.sent()), got)
	}
}

// A receipt of the same run, under an intent that Redis lost, settles the channel without a send, even without Redis.
func TestG10_AReceiptInTheOutboxSettlesTheChannel(t *testing.T) {
	t.Parallel()
	w := setup(t, always(sentResult), one("ops"))
	w.tells(settled)
	w.Start()
	first := w.put("w48", "ops")
	w.untilShut(first)
	w.says(outbox.Answer{}, outbox.ErrAway)
	second := outbox.Intent{
		Ref: outbox.Ref{Ticket: first.Ticket, ID: "again"}, Run: 1, Key: first.Ticket, At: time.Now(),
		Channels: map[string]outbox.Delivery{"ops": {Type: "log"}},
	}
	if err := w.store.Stage(second); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Commit(second.Ref); err != nil {
		t.Fatal(err)
	}
	w.untilShut(second.Ref)
	if got := w.told(); len(w.sent()) != 1 || len(got) != 2 || got[1].ID != "again" || got[1].Status != outbox.Sent {
		t.Errorf("%d sends, told %+v", len(w.sent()), got)
	}
}

func TestWhatIsNotConfiguredStaysPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(sentResult), one("ops"), one("changed"))
		w.config.Channels = []channel.Config{{Name: "changed", Type: "webhook"}} // when it was accepted
		ref := w.put("w48", "ops", "gone", "changed")
		w.tells(func(o outbox.Outcome) (bool, error) { return false, nil })
		w.Start()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		in := w.get(ref)
		for _, name := range []string{"gone", "changed"} {
			if d := in.Channels[name]; in.Origin != outbox.Committed || d.Status != outbox.Pending || d.Attempts != 0 {
				t.Errorf("the intent is %s, channel %s %+v", in.Origin, name, d)
			}
		}
		if d := in.Channels["ops"]; d.Status != outbox.Sent || !d.Recorded || len(w.asked()) != 1 {
			t.Errorf("the other channel is %+v, asked %d times", d, len(w.asked()))
		}
	})
}
