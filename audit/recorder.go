// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	Capacity  = 4096            // records that wait for the journal; those beyond are dropped
	stopLimit = 3 * time.Second // for the last ones, when the daemon stops
)

// Recorder takes records from wherever something is written, gives each its number, and has one goroutine bring them to the
// journal, which may be slow, or stopped. Nobody who hands one over ever waits for that: when the queue is full, records are
// dropped, until it is half empty, and then a record tells which numbers are missing.
type Recorder struct {
	run  string // of the daemon
	host string
	sink sink
	log  *slog.Logger

	queue chan *Record
	quit  chan struct{} // closes when the last record is in the queue
	done  chan struct{} // closes when the sender has ended

	marks marks // the sender's

	mu       sync.Mutex // guards what follows
	seq      int64      // the last number that was given
	refused  refusals
	lost     []span // numbers that reached no journal, and of which no record tells yet
	full     bool   // the queue was full, and is not half empty yet
	running  bool
	stopping bool

	records, drops prometheus.Counter
}

// NewRecorder wires and starts nothing; records wait in the queue until it is started. They are of a run of a host's daemon. They go
// to out as JSON lines; without one to the journal, or where there is none, to standard error.
func NewRecorder(run, host string, out io.Writer, log *slog.Logger, r prometheus.Registerer) *Recorder {
	a := &Recorder{
		run: run, host: host, sink: newSink(out), log: log, refused: refusals{}, queue: make(chan *Record, Capacity),
		quit: make(chan struct{}), done: make(chan struct{}),
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "picket_audit_records_total", Help: "Audit records that were numbered, those that were dropped among them.",
		}),
		drops: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "picket_audit_dropped_total", Help: "Audit records that were dropped, because the journal did not take them.",
		}),
	}
	depth := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "picket_audit_queue", Help: "Audit records that wait for the journal.",
	}, func() float64 { return float64(len(a.queue)) })
	r.MustRegister(a.records, a.drops, depth)
	return a
}

// Record numbers an event and puts it into the queue, unless it is one of too many refusals. It never blocks.
func (a *Recorder) Record(e Event) {
	e = bounded(e)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopping && (e.Kind != Refused || a.refused.admit(e)) {
		a.putLocked(e, nil)
	}
}

// tellRefusedLocked makes a record for each user and code of which there were too many.
func (a *Recorder) tellRefusedLocked() {
	for _, e := range a.refused.take() {
		a.putLocked(e, nil)
	}
}

// tick tells what was only counted, and keeps which numbers the journal has.
func (a *Recorder) tick(now time.Time) {
	a.mu.Lock()
	if !a.stopping {
		a.tellRefusedLocked()
	}
	last := a.seq
	a.mu.Unlock()
	if len(a.queue) > 0 { // what waits is told by the next
		return
	}
	if err := a.marks.note(a.run, last, now); err != nil {
		a.log.Warn("a lack of audit records will not be seen", "error", err)
	}
}

func (a *Recorder) putLocked(e Event, lost []span) {
	e.Host = cmp.Or(e.Host, a.host)
	a.seq++
	a.records.Inc()
	if !a.full {
		select {
		case a.queue <- newRecord(e, a.run, a.seq, lost):
			return
		default:
			a.full = true
		}
	}
	a.loseLocked(a.seq)
}

// loseLocked notes a number that reaches no journal.
func (a *Recorder) loseLocked(seq int64) {
	a.drops.Inc()
	if n := len(a.lost); n > 0 && a.lost[n-1].last == seq-1 {
		a.lost[n-1].last = seq
		return
	}
	a.lost = append(a.lost, span{seq, seq})
}

// tell puts a record of what was lost into the queue, when that is half empty again.
func (a *Recorder) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.lost) == 0 || len(a.queue) > cap(a.queue)/2 {
		return
	}
	lost := a.lost
	a.full, a.lost = false, nil
	a.putLocked(Event{Kind: Dropped}, lost)
}

// Start begins to send, and keeps in a folder which numbers the journal took.
func (a *Recorder) Start(stateDir string) {
	var err error
	if a.marks, err = openMarks(stateDir); err != nil {
		a.log.Warn("which audit records there were is not known any more", "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = true
	go a.loop()
}

func (a *Recorder) loop() {
	defer close(a.done)
	defer func() { a.tick(time.Now()) }()
	ticker := time.NewTicker(refusedEvery)
	defer ticker.Stop()
	for {
		select {
		case r := <-a.queue:
			a.send(r)
			continue
		default:
		}
		if err := a.sink.flush(); err != nil {
			a.log.Error("cannot write audit records", "error", err)
		}
		select {
		case r := <-a.queue:
			a.send(r)
		case now := <-ticker.C:
			a.tick(now)
		case <-a.quit:
			if len(a.queue) == 0 {
				return
			}
		}
	}
}

func (a *Recorder) send(r *Record) {
	r.speak()
	if err := a.sink.send(r); err != nil {
		a.log.Error("cannot write an audit record", "seq", r.Seq, "kind", r.Kind, "error", err)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.lost = append(a.lost, r.lost...)
		a.loseLocked(r.Seq)
		return // what was lost is told when the journal takes something again
	}
	a.tell()
}

// Stop sends what is left, at most until ctx is done or stopLimit is over: a journal that is stopped does not hold up the
// daemon's end.
func (a *Recorder) Stop(ctx context.Context) error {
	a.mu.Lock()
	if !a.stopping {
		a.tellRefusedLocked()
		a.putLocked(Event{Kind: Stopped}, nil)
		a.stopping = true
		close(a.quit)
	}
	running := a.running
	a.mu.Unlock()
	if !running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the journal does not take the last audit records, at least %d", len(a.queue))
	}
}
