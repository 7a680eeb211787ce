// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

// another puts a second intent for the ticket of the first into the outbox, as an agent that begins anew after a loss of data does,
// or, with retried, as a person who had it sent once more with that one.
func (w *world) another(first outbox.Ref, cc channel.Config, retried string) outbox.Ref {
	w.t.Helper()
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: first.Ticket, ID: "again"}, Run: 1, Key: first.Ticket, At: time.Now(),
		Channels: map[string]outbox.Delivery{"ops": {Type: "log", AtMostOnce: cc.AtMostOnce, Retried: retried}},
	}
	if err := w.store.Stage(in); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Commit(in.Ref); err != nil {
		w.t.Fatal(err)
	}
	return in.Ref
}

func TestG10_AtMostOnceIsParkedWhenAnEarlierIntentMayHaveArrived(t *testing.T) {
	t.Parallel()
	for _, status := range []outbox.Status{outbox.Sending, outbox.Unknown, outbox.Parked, outbox.Dead} {
		for _, retried := range []string{"", "again", "w48"} { // the first one was itself a retry, whose word is used up
			t.Run(string(status), func(t *testing.T) {
				t.Parallel()
				w := setup(t, always(sentResult), once("ops"))
				first := w.put("w48", "ops")
				if err := w.store.Begin(first, "ops", 1); err != nil {
					t.Fatal(err)
				}
				if status != outbox.Sending {
					o := outbox.Outcome{Ref: first, Channel: "ops", Number: 1, Status: status, At: time.Now()}
					if err := w.store.Record(o, time.Now(), true); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.store.Shut(first); err != nil {
					t.Fatal(err)
				}
				want := outbox.Sent
				if retried != "again" && status != outbox.Dead {
					want = outbox.Parked
				}
				second := w.another(first, once("ops"), retried)
				w.tells(settled)
				w.Start()
				w.untilShut(second)
				if got := w.get(second).Channels["ops"].Status; got != want || (want == outbox.Sent) != (len(w.sent()) == 1) {
					t.Errorf("retried with %q: it is %s after %d sends, want %s", retried, got, len(w.sent()), want)
				}
			})
		}
	}
}

// Redis loses the ticket while an attempt is in flight, and the agent begins anew: the second intent waits for the first one's receipt.
func TestG10_AnAttemptInFlightIsWaitedForByTheNextIntent(t *testing.T) {
	t.Parallel()
	for _, cc := range []channel.Config{one("ops"), once("ops")} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(context.Context, send) channel.Result {
				time.Sleep(5 * time.Second)
				return sentResult
			}
			w := setup(t, slow, cc)
			w.tells(settled)
			first := w.put("w48", "ops")
			w.Start()
			time.Sleep(time.Second)
			second := w.another(first, cc, "")
			time.Sleep(time.Minute)
			if len(w.sent()) != 1 || w.get(second).Channels["ops"].Status != outbox.Sent {
				t.Errorf("sent %d times, the second is %+v", len(w.sent()), w.get(second).Channels)
			}
		})
	}
}
