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

// TestG9_GiveUpTakesNothingUntried: two a minute pass, and eight wait, that count as too old before they had their turn.
func TestG9_GiveUpTakesNothingUntried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		origin outbox.Origin
		boot   string
		result channel.Result
		want   outbox.Status
	}{
		"the clock was set forward":     {outbox.Committed, "this", sentResult, outbox.Sent},
		"it is of another boot":         {outbox.Committed, "before", sentResult, outbox.Sent},
		"it is adopted":                 {outbox.Adopted, "", sentResult, outbox.Sent},
		"it is adopted, and is refused": {outbox.Adopted, "", channel.Result{Status: outbox.Pending, Error: "busy"}, outbox.Dead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := setup(t, always(c.result), channel.Config{Name: "ops", Rate: "2/m"})
				w.Notifier.Boot = "this"
				ids := names("w", 8)
				for _, id := range ids {
					w.putAged(c.origin, id, 24*time.Hour, c.boot)
				}
				w.tells(settled)
				w.Start()
				time.Sleep(10 * time.Minute)
				for _, id := range ids {
					w.shutWith(refOf(id), map[string]outbox.Status{"ops": c.want})
				}
				if len(w.sent()) != len(ids) {
					t.Errorf("%d sends", len(w.sent()))
				}
			})
		})
	}
}

// TestGiveUpGoesByTheClockOfTheBoot: the wall clock was set back by a day since.
func TestGiveUpGoesByTheClockOfTheBoot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, always(channel.Result{Status: outbox.Pending, Error: "HTTP 503"}), one("ops"))
		w.Notifier.Boot = "this"
		w.putAged(outbox.Committed, "w48", -24*time.Hour, "this")
		w.tells(settled)
		w.Start()
		time.Sleep(w.GiveUp + time.Minute)
		w.shutWith(refOf("w48"), map[string]outbox.Status{"ops": outbox.Dead})
	})
}
