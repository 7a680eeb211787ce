// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
	"time"
)

func TestG2_NobodyWritesOnceAnotherTicketOfTheAssetIsClaimed(t *testing.T) {
	t.Parallel()
	// The asset is claimed for t1, and a second later for t2. Then comes what else is in the history of t1, so long after the first claim.
	then := func(e event, after time.Duration) func(*world) {
		return func(w *world) {
			at := time.Unix(1000, 0)
			histories := map[string][]event{
				"t1": {{Event: "claimed", To: initial, At: at, Token: 1}, e},
				"t2": {{Event: "claimed", To: initial, At: at.Add(time.Second), Token: 2}},
			}
			histories["t1"][1].At = at.Add(after)
			for _, task := range []string{"t1", "t2"} {
				for i := range histories[task] {
					histories[task][i].Seq = int64(i + 1)
				}
				w.ask("host-b", "GET", "/v1/tickets/web/"+task+"/history", nil, func() (int, any) { return http.StatusOK, dict{"events": histories[task]} })
			}
		}
	}
	step := event{Event: "step", Step: "online", From: initial, To: online, Token: 1}
	failure := event{Event: "failed", Step: "online", From: initial, To: failed, Token: 1}
	ended := event{Event: "lost", From: initial, To: initial, Token: 1}
	judge(t, map[string]spoilt{
		"a step before":    {play: then(step, 900*time.Millisecond)},
		"a step after":     {play: then(step, 1100*time.Millisecond), broken: "G2", says: "came 100ms after token 2 was granted on web/t2"},
		"a failure after":  {play: then(failure, 1100*time.Millisecond), broken: "G2"},
		"its end is noted": {play: then(ended, time.Minute)},
		"data were lost":   {play: func(w *world) { w.fault("flush", "", true, false, func() {}); then(step, time.Minute)(w) }, broken: "G2"},
		"between readings": {
			play:    func(w *world) { w.fault("flush", "", true, false, func() { then(step, time.Minute)(w) }) },
			excused: "G2: Redis lost data between the readings of two histories",
		},
		"a clock was set": {
			play:    func(w *world) { w.clock(time.Minute, func() {}); then(step, time.Minute)(w) },
			excused: "G2: the clock of a Redis was set, so that its times tell no order",
		},
		"it was set long before both": {play: func(w *world) {
			w.clock(time.Minute, func() {})
			for i, host := range []string{"host-a", "host-b"} {
				w.token = int64(i) - 9
				w.claim(host, "web", "t3")
				w.pass(ttl * 1e6)
			}
			then(step, time.Minute)(w)
		}, broken: "G2"},
	})
}
