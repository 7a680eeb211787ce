// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// The names of the alarms.
const (
	AlarmStoreReset  = "store_reset"  // Redis lost its data
	AlarmLayout      = "layout"       // what stands in Redis has another layout
	AlarmStoreOlder  = "store_older"  // Redis went back to an older state
	AlarmTokenBack   = "token_back"   // a grant is older than it was
	AlarmClockOffset = "clock_offset" // this host's clock and Redis' differ
	AlarmClockStep   = "clock_step"   // one of the two was set
)

const (
	alarmKept  = 24 * time.Hour // for which what happened once is shown
	alarmAgain = time.Minute    // between two lines in the log about the same
)

// Alarm is something that a person must look at, though the daemon goes on and nothing rests on it.
type Alarm struct {
	Name    string
	Message string // what is, what it means, what to do
	At      time.Time
}

// alarms are those of now.
type alarms struct {
	log  *slog.Logger
	tell func(name, message string) // as often as the log

	mu     sync.Mutex
	raised map[string]Alarm
	once   map[string]bool      // it happened, and does not end by itself
	said   map[string]time.Time // when it was last logged
}

func newAlarms(log *slog.Logger, tell func(name, message string)) *alarms {
	return &alarms{log: log, tell: tell, raised: map[string]Alarm{}, once: map[string]bool{}, said: map[string]time.Time{}}
}

// happened raises an alarm about something that happened, for alarmKept.
func (a *alarms) happened(name, message string) { a.raise(name, message, true) }

// holds raises an alarm about something that lasts until the message is empty.
func (a *alarms) holds(name, message string) {
	if message != "" {
		a.raise(name, message, false)
		return
	}
	a.mu.Lock()
	_, was := a.raised[name]
	delete(a.raised, name)
	delete(a.said, name)
	a.mu.Unlock()
	if was {
		a.log.Info("an alarm is over", "alarm", name)
	}
}

func (a *alarms) raise(name, message string, once bool) {
	now := time.Now()
	a.mu.Lock()
	at := now
	if was, lasts := a.raised[name]; lasts && !once {
		at = was.At
	}
	a.raised[name], a.once[name] = Alarm{name, message, at.UTC()}, once
	said, before := a.said[name]
	say := !before || now.Sub(said) >= alarmAgain && once
	if say {
		a.said[name] = now
	}
	a.mu.Unlock()
	if say {
		a.log.Error(message, "alarm", name)
		a.tell(name, message)
	}
}

// list is what is raised, by name.
func (a *alarms) list() []Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.raised, func(name string, r Alarm) bool { return a.once[name] && time.Since(r.At) > alarmKept })
	return slices.SortedFunc(maps.Values(a.raised), func(a, b Alarm) int { return cmp.Compare(a.Name, b.Name) })
}
