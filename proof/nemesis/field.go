// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/load"
	"github.com/picketd/picket/proof/stage"
)

// Step is one fault of a plan.
type Step struct {
	ID    int
	Fault string        // the name of one of Faults
	At    time.Duration // since the plan's beginning
	Long  time.Duration // how long it lasts; 0: over at once
	Pick  uint64        // picks the target
}

// Fault is a kind of fault.
type Fault struct {
	Name       string
	Topologies []string // where it can be; none: everywhere
	Profiles   []string // which have it; none: all
	Loses      bool     // Redis may lose what it confirmed
	Keeps      bool     // but not what was waited for
	Steps      bool     // the clock of a Redis is set
	Least      time.Duration
	Most       time.Duration // how long it lasts; 0: over at once
	Weight     int           // how often it is drawn. Defaults to 1
	Times      int           // how often there may be one in a plan; 0: any number of times

	// act brings it about on a target, waits, and ends it. It returns an error only if it cannot be ended.
	act func(context.Context, job) error
}

// Allowed reports whether a history of that kind may have it.
func (f *Fault) Allowed(topology, profile string) bool {
	return (len(f.Topologies) == 0 || slices.Contains(f.Topologies, topology)) &&
		(len(f.Profiles) == 0 || slices.Contains(f.Profiles, profile))
}

// of reports whether it is what the profile is about.
func (f *Fault) of(profile string) bool {
	return len(f.Profiles) > 0 && len(f.Profiles) <= len(lost) && f.Profiles[0] == profile
}

// field is where faults strike.
type field struct {
	log       *history.Log
	stage     *stage.Stage
	load      *load.Load
	receivers *load.Receivers

	mu      sync.Mutex
	taken   map[string]bool // what a fault has in hand, such as the process of a host, which no other may touch then
	planned time.Time       // when the last planned failover was over, or has begun
}

// job is a step that is carried out.
type job struct {
	*field
	Step
	kind *Fault
}

// take takes what a fault has in hand: all of it or nothing.
func (f *field) take(things ...string) (give func(), taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, thing := range things {
		if f.taken[thing] {
			return nil, false
		}
	}
	for _, thing := range things {
		f.taken[thing] = true
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, thing := range things {
			delete(f.taken, thing)
		}
	}, true
}

// choose takes one of the candidates: the one that the step picks, or the next that no other fault has in hand.
func choose[T any](j job, candidates []T, things func(T) []string) (one T, give func(), found bool) {
	for i := range candidates {
		one = candidates[(j.Pick+uint64(i))%uint64(len(candidates))]
		if give, taken := j.take(things(one)...); taken {
			return one, give, true
		}
	}
	return one, nil, false
}
