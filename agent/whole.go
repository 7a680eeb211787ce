// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"
)

// Whole is how far a list is, over all hosts. It may lag by some seconds.
type Whole struct {
	Before    int     // was done when this run began
	Done      int     // as an asset of this run is: its notification may be under way
	Failed    int     // has a failure
	HighRisk  int     // of all tickets
	PerMinute float64 // became terminal lately
}

// watchList notes again and again how many assets are worked on under the task, as Redis may lose that: then what nobody has claimed yet
// would be missing from the task's total. It tells how far they are: once, and with Follow each time. It tells nothing of a list that
// shares its task with others, as nobody knows which assets are whose.
func (a *Agent) watchList(ctx context.Context, list *assets.List, wholes chan<- Whole) {
	before, digest, pause := -1, list.Digest(), followPause
	for {
		var got client.TaskBody
		err := a.call(ctx, func(ctx context.Context) (err error) {
			_, err = a.client.NoteList(ctx, a.options.Task, digest, list.Len())
			if err == nil && pause == followPause {
				got, err = a.client.Task(ctx, a.options.Task)
			}
			return err
		})
		if err != nil && !lease.Transient(err) {
			return // a daemon that knows no lists, or nobody waits for it any more
		}
		if t := got.Task; err == nil && !got.Incomplete && t.Lists == 1 && t.Total == int64(list.Len()) {
			w := Whole{
				Done:   int(t.States[client.StateFinished] + t.States[client.StateNotifying] + t.States[client.StateNotified]),
				Failed: int(t.Failed + t.Damaged), HighRisk: int(t.HighRisk), PerMinute: t.PerMinute,
			}
			if before < 0 {
				before = w.Done
			}
			w.Before = before
			select {
			case wholes <- w:
			case <-ctx.Done():
			}
		}
		if err == nil && !a.options.Follow {
			pause = notePause
		}
		select {
		case <-time.After(pause + rand.N(pause)):
		case <-ctx.Done():
			return
		}
	}
}

// The least time from one question to the next; chance adds as much at most.
const (
	followPause = 2 * time.Second
	notePause   = 10 * time.Second // when nobody follows: about as often as the daemons look whether Redis lost data
)
