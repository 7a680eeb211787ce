// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// What was begun before Redis lost it waits for a person, with its content, until one decides: nothing of it is sent before. Another
// channel of the intent, which goes out all the same, does not shut it.
func TestG10_WhatRedisLostAndMayHaveArrivedWaitsForAPersonWithItsContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(*world, outbox.Ref) error
		sends  int // on pager
		want   outbox.Status
	}{
		"nothing": {func(*world, outbox.Ref) error { return nil }, 0, outbox.Parked},
		"discard": {func(w *world, ref outbox.Ref) error {
			return w.store.Decide(ref, map[string]outbox.Status{"pager": outbox.Discarded})
		}, 0, outbox.Discarded},
		"settle": {func(w *world, ref outbox.Ref) error {
			return w.store.Record(outbox.Outcome{Ref: ref, Channel: "pager", Number: 1, Status: outbox.Sent, At: time.Now()}, time.Now(), false)
		}, 0, outbox.Sent},
		"retry": {func(w *world, ref outbox.Ref) error { return w.store.Again(ref, "pager", "again") }, 1, outbox.Discarded},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, always(sentResult), one("ops"), once("pager"))
			ref := w.put("w48", "ops", "pager")
			if err := w.store.Begin(ref, "pager", 1); err != nil {
				t.Fatal(err)
			}
			w.says(outbox.Answer{Verdict: outbox.Lost, Sole: true}, nil)
			w.tells(func(outbox.Outcome) (bool, error) { return true, nil })
			w.Start()
			time.Sleep(2 * w.config.GiveUp)
			synctest.Wait()
			if in := w.get(ref); in.Origin != outbox.Committed || in.Channels["pager"].Status != outbox.Parked ||
				len(in.Channels["pager"].Body) == 0 || len(in.Content) == 0 || in.Channels["ops"].Status != outbox.Sent {
				t.Errorf("%s: before, the intent is %s, %+v", name, in.Origin, in.Channels)
			}
			if err := c.decide(w, ref); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			sends := 0
			for _, s := range w.sent() {
				if s.channel == "pager" {
					sends++
					if s.Key != "web-01/w48" || string(s.Body) != "body of w48" {
						t.Errorf("%s: sent %+v", name, s.Delivery)
					}
				}
			}
			in := w.get(ref)
			if d := in.Channels["pager"]; sends != c.sends || d.Status != c.want || (in.Origin == outbox.Closed) != (name != "nothing") {
				t.Errorf("%s: sent %d times, the intent is %s, the channel %s", name, sends, in.Origin, d.Status)
			}
			told := w.told()
			if last := told[len(told)-1]; name == "settle" && (last.ID != ref.ID || last.Status != outbox.Sent) || name == "retry" && (last.ID != "again" || last.Status != outbox.Sent) {
				t.Errorf("%s: told %+v last", name, last)
			}
		})
	}
}

// What a person had sent once more waits again when nobody knows whether that arrived, and when it was given up.
func TestG10_WhatWasSentOnceMoreWaitsAgain(t *testing.T) {
	t.Parallel()
	for result, want := range map[outbox.Status]outbox.Status{outbox.Unknown: outbox.Parked, outbox.Dead: outbox.Dead} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, always(channel.Result{Status: result}), once("pager"))
			ref := w.put("w48", "pager")
			w.says(outbox.Answer{Verdict: outbox.Lost}, nil)
			w.tells(func(outbox.Outcome) (bool, error) { return true, nil })
			w.Start()
			time.Sleep(time.Minute)
			if err := w.store.Again(ref, "pager", "again"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * w.config.GiveUp)
			synctest.Wait()
			in := w.get(outbox.Ref{Ticket: ref.Ticket, ID: "again"})
			if d := in.Channels["pager"]; len(w.sent()) != 1 || d.Status != want || !d.Waits() || len(d.Body) == 0 {
				t.Errorf("%s: sent %d times, the intent is %s, %+v", result, len(w.sent()), in.Origin, d)
			}
		})
	}
}

// TestG10_WhatRedisLostIsAskedAgainAfterAFreeze, before and after the beginning is written: another host may have told it meanwhile.
func TestG10_WhatRedisLostIsAskedAgainAfterAFreeze(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		channel      channel.Config
		asks, begins time.Duration // it stands still for so long
	}{
		"at the question":              {one("pager"), time.Minute, 0},
		"at the question, once":        {once("pager"), time.Minute, 0},
		"before the first byte, once":  {once("pager"), 0, time.Minute},
		"a busy machine, and once too": {once("pager"), relyFor / 2, relyFor / 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := setup(t, always(sentResult), c.channel)
				ref := w.put("w48", "pager")
				w.box = slowBegin{w.box, c.begins}
				w.ask(func(a outbox.Attempt) (outbox.Answer, error) {
					if a.Number > 1 {
						return outbox.Answer{Verdict: outbox.Done, Status: outbox.Sent}, nil
					}
					time.Sleep(c.asks)
					return outbox.Answer{Verdict: outbox.Lost, Sole: true}, nil
				})
				w.tells(settled)
				w.Start()
				time.Sleep(w.config.GiveUp)
				w.shutWith(ref, map[string]outbox.Status{"pager": outbox.Sent})
				if n := len(w.sent()); (n == 1) != (c.asks+c.begins < relyFor) {
					t.Errorf("sent %d times", n)
				}
			})
		})
	}
}

// slowBegin is an outbox in which the beginning of an attempt is written after a freeze.
type slowBegin struct {
	box
	wait time.Duration
}

func (s slowBegin) Begin(ref outbox.Ref, channel string, number int) error {
	time.Sleep(s.wait)
	return s.box.Begin(ref, channel, number)
}
