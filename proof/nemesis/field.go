// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"sync"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/load"
	"github.com/picketd/picket/proof/stage"
)

// mending is how long is tried to end a fault, at most. Other faults may stand in the way until their own ends.
const mending = 2 * time.Minute

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

// blow is what one step does.
type blow struct {
	target, detail string
	begin          func(context.Context) error
	end            func(context.Context) error // nil: what begin does is over when it returns
}

// strike writes that the fault begins, begins it, waits, ends it, and writes that. What begin says is no error of the proof: a fault that meets
// another may come to nothing, or to half. end is tried until it succeeds, also when ctx is over.
func (j job) strike(ctx context.Context, b blow) error {
	record := history.Fault{ID: j.ID, Name: j.Fault, Target: b.target, Loses: j.kind.Loses, Steps: j.kind.Steps, Detail: b.detail}
	over := record
	over.End = true
	j.log.Write(history.Record{Fault: &record})
	limited, cancel := context.WithTimeout(ctx, mending)
	defer cancel()
	if err := b.begin(limited); err != nil {
		over.Detail = "at its beginning: " + err.Error()
	}
	var err error
	if b.end != nil {
		pause(ctx, j.Long)
		if err = mend(ctx, b.end); err != nil {
			over.Detail = "cannot be ended: " + err.Error()
		}
	}
	j.log.Write(history.Record{Fault: &over})
	return err
}

// mend tries until it succeeds, or the time for that is over.
func mend(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mending)
	defer cancel()
	for {
		err := end(ctx)
		if err == nil || !pause(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// pause waits, and reports whether ctx lasted as long.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// plain is a call that needs no context and cannot fail.
func plain(call func()) func(context.Context) error {
	return func(context.Context) error {
		call()
		return nil
	}
}
