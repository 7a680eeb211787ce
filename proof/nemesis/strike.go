// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"time"

	"github.com/picketd/picket/proof/history"
)

// mending is how long is tried to end a fault, at most. Other faults may stand in the way until their own ends.
const mending = 2 * time.Minute

// blow is what one step does.
type blow struct {
	target, detail string
	begin          func(context.Context) error
	end            func(context.Context) error // nil: what begin does is over when it returns
}

// strike writes that the fault begins, begins it, waits, ends it, and writes that. What begin says is no error of the proof: a fault that meets
// another may come to nothing, or to half. end is tried until it succeeds, also when ctx is over.
func (j job) strike(ctx context.Context, b blow) error {
	record := history.Fault{ID: j.ID, Name: j.Fault, Target: b.target, Loses: j.kind.Loses, Keeps: j.kind.Keeps, Steps: j.kind.Steps, Detail: b.detail}
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
