// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/proof/history"
)

// What the workers are about. A name of an asset has a number.
const (
	sharedAssets = 2                // how many there are of shared-N
	sharedFor    = 10 * time.Second // how long a task of a shared asset is worked on, besides one other
	toldFor      = 2 * time.Second  // after which there is another of told-N
	toldAssets   = 3                // how many of told-N are worked on: few, so that many want each
)

// job is what all workers of a process have in common.
type job struct {
	ttl      time.Duration   // of a lock
	epoch    int64           // when the load began, as history.Now tells
	draining context.Context // when it is done, nothing new is begun
	meets    func(name)      // is told of a ticket before it is first asked for
}

// worker does one thing after another, by chance from its seed.
type worker struct {
	*caller
	job
	watcher *caller     // of the claim that is held
	away    atomic.Bool // the watcher's last call had no answer
	rand    *rand.Rand
	old     []held       // claims that ended without being released, or were lost: some are written under all the same
	met     []name       // the last tickets
	past    map[name]int // of an asset and its task of a slot: how many tickets were found terminal
}

// held is a claim as its worker sees it.
type held struct {
	claim
	name  name
	state string // of its ticket
	run   int64
	next  []next
	last  sent
}

// sent is a call on a claim, to be sent again.
type sent struct {
	call string
	body []byte
}

// pause waits for a time between the two, and reports whether to go on.
func (w *worker) pause(least, most time.Duration) bool {
	t := time.NewTimer(least + time.Duration(w.rand.Int64N(int64(most-least+1))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.draining.Done():
		return false
	}
}

// chance is true that often of a hundred times.
func (w *worker) chance(of100 int) bool { return w.rand.IntN(100) < of100 }

func (w *worker) slot(long time.Duration) int64 { return (history.Now() - w.epoch) / int64(long) }

// shared is a ticket of a shared asset, on which others work meanwhile: most on the same ticket, some on another one of the asset.
func (w *worker) shared() name {
	line := "t"
	if w.chance(40) {
		line = "u"
	}
	return w.meet(w.current(fmt.Sprint("shared-", w.rand.IntN(sharedAssets)), line))
}

// current is the ticket of a shared asset that is worked on in this slot.
func (w *worker) current(asset, line string) name {
	slot := fmt.Sprint(line, w.slot(sharedFor))
	if past := w.past[name{asset, slot}]; past > 0 {
		return name{asset, fmt.Sprint(slot, ".", past)}
	}
	return name{asset, slot}
}

// told is a ticket of the present slot, or of one of those before.
func (w *worker) told() name {
	return w.meet(name{fmt.Sprint("told-", max(0, w.slot(toldFor)-w.rand.Int64N(toldAssets))), "t"})
}

func (w *worker) meet(n name) name {
	w.meets(n)
	w.met = append(w.met, n)
	if len(w.met) > 12 {
		w.met = w.met[1:]
	}
	return n
}

// known is a ticket that this worker has met.
func (w *worker) known() name {
	if len(w.met) == 0 {
		return w.shared()
	}
	return w.met[w.rand.IntN(len(w.met))]
}

// passed notes that a ticket of a shared asset is terminal, so that the next one is taken.
func (w *worker) passed(n name) {
	if line := n.task[:1]; n == w.current(n.asset, line) {
		w.past[name{n.asset, fmt.Sprint(line, w.slot(sharedFor))}]++
	}
}

// request is the body of a claim, and how long it waits for the asset. What lives as long as a process always has a max_hold, so that a
// claim whose answer was lost, or which was forgotten, does not stand until the end.
func (w *worker) request(n name) ([]byte, time.Duration) {
	wait := []time.Duration{0, w.ttl, 2 * w.ttl, 2 * w.ttl}[w.rand.IntN(4)]
	b := map[string]any{"asset": n.asset, "task": n.task, "request": fmt.Sprint("r", w.rand.Uint64())}
	if wait > 0 {
		b["wait"] = wait.String()
	}
	beat := (w.ttl/2 + time.Duration(w.rand.Int64N(int64(w.ttl)))).Round(time.Millisecond)
	hold := (w.ttl + time.Duration(w.rand.Int64N(int64(3*w.ttl)))).Round(time.Millisecond)
	switch n := w.rand.IntN(10); {
	case n < 3:
		b["heartbeat"] = max(beat, time.Second).String()
	case n < 5:
		b["max_hold"] = max(hold, time.Second).String()
	case n < 7:
		b["pid"], b["heartbeat"] = w.pid(), max(beat, time.Second).String()
	default:
		b["pid"], b["max_hold"] = w.pid(), max(hold, time.Second).String()
	}
	if w.chance(10) {
		delete(b, "request")
	}
	return body(b), wait
}

// insist makes a call, mostly again, to the byte, when its answer was lost or there was no service.
func (w *worker) insist(method, path string, body []byte, wait time.Duration) reply {
	r := w.call(context.Background(), method, path, body, wait)
	for again := 0; (r.status == 0 || r.status == http.StatusServiceUnavailable) && again < 3 && w.chance(75); again++ {
		if !w.pause(50*time.Millisecond, time.Second) {
			break
		}
		r = w.call(context.Background(), method, path, body, wait)
	}
	return r
}
