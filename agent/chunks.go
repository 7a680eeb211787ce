// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/sockapi/client"
)

const (
	chunkSize  = 256                    // assets of a list that are looked at together
	awayPause  = 100 * time.Millisecond // until something new is begun while the daemon or Redis is away
	checkPause = time.Second            // until it is asked again whether all that was seen still holds
)

// chunk is a part of the list, of the same assets for all hosts. No host owns it: it is looked at to know what is not done yet, and who
// finds all of it done has that noted, so that others pass over it. What keeps an asset from being done twice is its lock.
type chunk struct {
	number int
	left   int  // of its assets that are not settled
	open   bool // one of them is settled here, and its ticket is not terminal
}

// bounds are where a chunk begins in a list, and where it ends.
func (c *chunk) bounds(l *assets.List) (from, to int) {
	return c.number * chunkSize, min((c.number+1)*chunkSize, l.Len())
}

// look is what was seen of a chunk.
type look struct {
	chunk  *chunk
	closes bool           // all of it is settled here: it is looked at so that others may pass over it
	checks bool           // whether all that was seen still holds
	basis  string         // for which this holds
	open   []int          // places in the list of what is to be worked on
	known  map[int]Result // of what is done, by place, where there is more to tell than that
	err    error          // the daemon, or its Redis, could not be asked
}

// look asks what of a chunk is done.
func (a *Agent) look(ctx context.Context, list *assets.List, c *chunk) look {
	seen := look{chunk: c, known: map[int]Result{}}
	from, to := c.bounds(list)
	names := make([]string, 0, to-from)
	for place := from; place < to; place++ {
		names = append(names, list.At(place).Name)
		seen.open = append(seen.open, place)
	}
	if list.Len() == 1 { // its claim answers all there is to tell
		return seen
	}
	places, got, err := a.readChunk(ctx, seen.open, names)
	if lease.Transient(err) || ctx.Err() != nil {
		seen.err = err
		return seen
	}
	if err != nil {
		return seen // each asset's claim will tell what is wrong
	}
	seen.basis = got.Basis
	seen.open = slices.DeleteFunc(seen.open, func(place int) bool {
		at, asked := slices.BinarySearch(places, place)
		return asked && !slices.Contains(got.Open, at)
	})
	for _, at := range slices.Concat(got.Failed, got.HighRisk) {
		place := places[at]
		if _, twice := seen.known[place]; twice {
			continue
		}
		r, done, err := a.known(ctx, list.At(place).Name)
		switch {
		case err != nil:
			seen.err = err
			return seen
		case done:
			seen.known[place] = r
		default:
			seen.open = append(seen.open, place)
		}
	}
	return seen
}

// readChunk reads what of some places of the list is done. Those whose assets the daemon takes for none are left out: their claims will
// tell. places are the others, which the answer is about.
func (a *Agent) readChunk(ctx context.Context, of []int, names []string) (places []int, got client.ChunkResponse, err error) {
	places = slices.Clone(of)
	for {
		err = a.call(ctx, func(ctx context.Context) (err error) {
			got, err = a.client.Chunk(ctx, a.options.Task, names)
			return err
		})
		p, refused := errors.AsType[*client.Problem](err)
		if !refused || p.Code != client.InvalidAsset || len(p.Errors) == len(names) {
			return places, got, err
		}
		for _, wrong := range slices.Backward(p.Errors) {
			at := -1
			if _, err := fmt.Sscanf(wrong.Location, "body.assets[%d]", &at); err != nil || at < 0 || at >= len(names) {
				return nil, got, p
			}
			places, names = slices.Delete(places, at, at+1), slices.Delete(names, at, at+1)
		}
	}
}

// known is the result of a ticket that was terminal; done says whether it still is, and whole.
func (a *Agent) known(ctx context.Context, asset string) (r Result, done bool, err error) {
	var t client.Ticket
	err = a.call(ctx, func(ctx context.Context) (err error) {
		t, err = a.client.Ticket(ctx, asset, a.options.Task)
		return err
	})
	if err != nil && (lease.Transient(err) || ctx.Err() != nil) {
		return r, false, err
	}
	r = Result{Asset: asset, Task: a.options.Task, Skipped: true}
	r.describe(t)
	r.conclude(nil)
	return r, err == nil && isTerminal(r.State) && t.Damaged == "", nil
}

// isTerminal says whether nothing is left to be done in a state.
func isTerminal(state string) bool {
	return state == client.StateFinished || state == client.StateFailed
}

// take looks at the next chunk, one at a time: at one that is settled here, else, when little is left to be begun, at one of the others,
// and at last whether all still holds.
func (r *listRun) take(ctx context.Context) {
	next := look{closes: len(r.settled) > 0}
	switch {
	case r.looking:
		return
	case next.closes:
		next.chunk, r.settled = r.settled[0], r.settled[1:]
	case len(r.todo) > 0 && len(r.fresh) < r.a.options.Parallel && !time.Now().Before(r.calm):
		next.chunk, r.todo = &chunk{number: r.todo[0]}, r.todo[1:]
	case r.unchecked() && !time.Now().Before(r.calm):
		next.chunk, next.checks = &chunk{}, true
	default:
		return
	}
	r.looking = true
	go func() {
		seen := r.a.look(ctx, r.list, next.chunk)
		seen.closes, seen.checks = next.closes, next.checks
		r.looks <- seen
	}()
}

// see takes in what was seen of a chunk.
func (r *listRun) see(l look) {
	r.looking, r.away = false, l.err != nil
	switch {
	case l.closes:
		return // that others could not be told costs them a look
	case l.checks:
		if r.todo = r.memory.check(l); len(r.todo) > 0 {
			why := "a ticket was reopened, or Redis lost data"
			if l.basis == "" {
				why = "this Redis does not tell whether it lost data"
			}
			r.a.options.Log.Warn(why+": the list is gone over again", "chunks", len(r.todo))
		} else if !r.memory.checked {
			r.calm = time.Now().Add(checkPause)
		}
		return
	case l.err != nil:
		r.todo, r.calm = append(r.todo, l.chunk.number), time.Now().Add(awayPause)
		return
	}
	from, to := l.chunk.bounds(r.list)
	r.memory.bases[l.chunk.number] = l.basis
	passed := make([]bool, to-from)
	for i := range passed {
		passed[i] = r.memory.places[from+i] == 0
	}
	for _, i := range rand.Perm(len(l.open)) {
		place := l.open[i]
		passed[place-from] = false
		if !r.memory.forget(place, &r.counts) {
			continue // it is settled here, and to be resumed by another run
		}
		asset := r.list.At(place)
		l.chunk.left++
		r.fresh = append(r.fresh, &entry{
			asset: asset, place: place, chunk: l.chunk, name: cryptorand.Text(), last: Result{Asset: asset.Name, Task: r.a.options.Task},
		})
	}
	for _, place := range slices.Sorted(maps.Keys(l.known)) {
		if passed[place-from] {
			passed[place-from] = false
			r.settle(place, l.known[place])
		}
	}
	same := Result{Outcome: Done, State: client.StateFinished, Skipped: true}
	n := 0
	for i, is := range passed {
		if is {
			r.memory.places[from+i] = remembered(same)
			n++
		}
	}
	if n > 0 {
		r.counts.add(same, n)
		r.progress = time.Now()
		r.a.options.ReportAll(r.of(l.chunk, passed, same))
	}
}

// of gives those assets of a chunk that are chosen the same result.
func (r *listRun) of(c *chunk, chosen []bool, same Result) iter.Seq[Result] {
	list, task := r.list, r.a.options.Task
	from, _ := c.bounds(list)
	return func(yield func(Result) bool) {
		for i, is := range chosen {
			if !is {
				continue
			}
			one := same
			one.Asset, one.Task = list.At(from+i).Name, task
			if one.State != "" {
				one.Ticket = one.Asset + "/" + task
			}
			if !yield(one) {
				return
			}
		}
	}
}

// close notes that an asset of a chunk is settled. When all are, and nothing is left to be done on any, others shall know.
func (r *listRun) close(c *chunk, last Result) {
	c.left--
	c.open = c.open || !isTerminal(last.State)
	if c.left == 0 && !c.open && r.list.Len() > 1 {
		r.settled = append(r.settled, c)
	}
}
