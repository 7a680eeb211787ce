// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"net/http"
	"testing"
	"time"
)

// lasts is a fault that lasts so long.
func lasts(name, target string, long time.Duration) func(*world) {
	return func(w *world) { w.fault(name, target, name == "all is flushed", false, func() { w.pass(long) }) }
}

func idles(long time.Duration) func(*world) { return func(w *world) { w.pass(long) } }

func TestAWindowIsOpenForAsLongAsItsFaultsLast(t *testing.T) {
	t.Parallel()
	// It arrives by host-b, something befalls them, and host-c sends it again.
	again := func(meanwhile ...func(*world)) func(*world) {
		return func(w *world) {
			told(w)
			both(w)
			for _, what := range meanwhile {
				what(w)
			}
			w.sent("host-c", "ops", time.Millisecond, http.StatusOK)
		}
	}
	const (
		away  = "G10: Redis was away, and nobody could be asked"
		lease = "G10: its sender was held up for longer than its lease"
		lost  = "G10: Redis lost data with two holders of the intent"
	)
	killed := func(long time.Duration) func(*world) { return lasts("redis is killed", "redis-1", long) }
	judge(t, map[string]spoilt{
		"Redis was away for long enough":        {play: again(killed(6 * time.Second)), excused: away},
		"for a moment":                          {play: again(killed(time.Second), idles(6*time.Second)), broken: "G10"},
		"twice in a row":                        {play: again(killed(3*time.Second), killed(3*time.Second)), excused: away},
		"twice, and back between":               {play: again(killed(2*time.Second), idles(4*time.Second), killed(2*time.Second)), broken: "G10"},
		"long before":                           {play: again(killed(6*time.Second), idles(12*time.Second)), broken: "G10"},
		"connections were closed":               {play: again(lasts("connections are closed", "redis-1", 0), idles(6*time.Second)), broken: "G10"},
		"memory was short":                      {play: again(lasts("memory is short", "redis-1", 6*time.Second)), broken: "G10"},
		"the one that sends was cut off":        {play: again(lasts("host is cut off", "host-c", 6*time.Second)), excused: away},
		"another was":                           {play: again(lasts("host is cut off", "host-a", 6*time.Second)), broken: "G10"},
		"it was cut off from receivers":         {play: again(lasts("host is cut off from receivers", "host-c", 6*time.Second)), broken: "G10"},
		"a freeze and a cut in a row":           {play: again(lasts("daemon freezes", "host-b", 6*time.Second), lasts("host is cut off", "host-b", 6*time.Second)), excused: lease},
		"a freeze of a moment, and a lease":     {play: again(lasts("daemon pauses", "host-b", time.Second), idles(12*time.Second)), broken: "G10"},
		"it was held up, and was back for long": {play: again(lasts("daemon freezes", "host-b", 12*time.Second), idles(10*time.Second)), broken: "G10"},
		"data were lost long before": {play: func(w *world) {
			lasts("all is flushed", "redis-1", 0)(w)
			w.pass(time.Minute)
			again(idles(6 * time.Second))(w)
		}, broken: "G10"},
		"and it was sent at once": {play: func(w *world) {
			lasts("all is flushed", "redis-1", 0)(w)
			w.pass(time.Minute)
			again()(w)
		}, excused: lost},
	})
}

func TestAStepOfTheClockEndsALease(t *testing.T) {
	t.Parallel()
	// host-b freezes as it sends, and 5 s later host-c sends; the clock is set as that is told.
	hung := func(channel string, before, meanwhile func(*world)) func(*world) {
		return func(w *world) {
			told(w)
			before(w)
			w.fault("daemon freezes", "host-b", false, false, func() {
				w.sent("host-b", channel, 2*time.Second, 0)
				meanwhile(w)
				w.pass(5 * time.Second)
				w.send("host-c", channel, "web/t1", http.StatusOK)
			})
			w.send("host-b", map[string]string{"ops": "once", "once": "ops"}[channel], "web/t1", http.StatusOK)
		}
	}
	set := func(by time.Duration) func(*world) { return func(w *world) { w.clock(by, func() {}) } }
	forward := func(by time.Duration, what func(*world)) func(*world) {
		return func(w *world) { w.clock(by, func() { w.pass(20 * time.Second); what(w); w.pass(20 * time.Second) }) }
	}
	const ended = "G10: the clock of a Redis was set forward, which ended its lease"
	judge(t, map[string]spoilt{
		"it is not set":              {play: hung("ops", idles(0), idles(0)), broken: "G10", says: "within the lease"},
		"it is set forward":          {play: hung("ops", idles(0), set(time.Minute)), excused: ended},
		"by too little":              {play: hung("ops", idles(0), set(500*time.Millisecond)), broken: "G10", says: "within the lease"},
		"it is put right":            {play: hung("ops", idles(0), set(-time.Minute)), excused: ended},
		"it was set before":          {play: hung("ops", func(w *world) { set(time.Minute)(w); w.pass(20 * time.Second) }, idles(0)), broken: "G10", says: "within the lease"},
		"it was, and is ahead":       {play: forward(time.Minute, hung("ops", idles(0), idles(0))), broken: "G10", says: "within the lease"},
		"on an at_most_once channel": {play: hung("once", idles(0), set(time.Minute)), broken: "G10", says: "at_most_once"},
	})
}

func TestADecisionHoldsSoonEverywhere(t *testing.T) {
	t.Parallel()
	discarded := func(w *world) { w.decide("discard", "ops", "ops", "discarded", 0) }
	// It is discarded as a fault of host-b begins, which lasts so long, and sent by host-b a while later.
	after := func(name string, long, later time.Duration) func(*world) {
		return func(w *world) {
			told(w)
			w.fault(name, "host-b", false, false, func() { discarded(w); w.pass(long) })
			w.pass(later)
			both(w)
		}
	}
	const (
		away  = "G10: Redis was away, and nobody could be asked"
		begun = "G10: it was begun before it was decided about"
	)
	judge(t, map[string]spoilt{
		"it was cut off":                {play: after("host is cut off", 15*time.Second, 0), excused: away},
		"for longer than it sends so":   {play: after("host is cut off for long", 18*time.Second, 0), broken: "G10", says: "after this"},
		"it was frozen":                 {play: after("daemon freezes", 8*time.Second, time.Second), excused: begun},
		"and was back":                  {play: after("daemon freezes", time.Second, 6*time.Second), broken: "G10", says: "after this"},
		"for longer than its lease":     {play: after("daemon freezes", 15*time.Second, time.Second), broken: "G10", says: "after this"},
		"it was cut off from receivers": {play: after("host is cut off from receivers", 8*time.Second, 0), excused: begun},
	})
}
