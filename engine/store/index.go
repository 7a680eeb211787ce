// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var indexScript = newScript("index")

const (
	indexDelay = 500 * time.Millisecond // between a write and the batch with which it is indexed
	indexMost  = 100_000                // FINISHED tickets in the index of all; those of a task are in its own, too
	indexBatch = 500                    // tickets that one script places
	indexTrip  = 64                     // scripts that are sent together
	touchedMax = 200_000                // tickets that wait to be indexed while Redis is away
	owedLong   = 30 * time.Second       // after which what a daemon owes the index counts as lost with it; hosts' clocks may differ by less
)

// all is the part of the index that has the tickets of every task; no task has this name.
const all = "*"

// The marks of a ticket in the index, and the sets of those that have them.
const (
	markFailed, setFailed     = "f", "failed"
	markHighRisk, setHighRisk = "h", "high_risk"
)

// setReports is the set of a task's reports, in whatever state: they count as none of its assets.
const setReports = "reports"

// setDamaged has the tickets that are damaged, in the place of their state's set: nobody may count them as done.
const setDamaged = "damaged"

// index gathers how tickets stand that were written. They are in other slots than the index, so no script of theirs can write it: it
// is a hint, never the truth. Who lists reads each ticket, and puts right what differs; the walk puts back what is missing.
type index struct {
	mu      sync.Mutex
	run     string // of this daemon, for what it owes
	dropped bool   // there was no room to keep all that it owes
	touched map[TicketID]entry
	wake    chan struct{}
	writing Turnstile // so that a listing comes after what is being written
}

// entry is what is to be indexed of a ticket.
type entry struct {
	Stand
	score float64
	wrong float64 // up to which score the index is known to be wrong
}

func newIndex() *index {
	return &index{run: rand.Text(), touched: map[TicketID]entry{}, wake: make(chan struct{}, 1), writing: NewTurnstile()}
}

// score orders the stands of one ticket: by the time of its last write, and within one ms by its revision. It is exact in a float64.
func (is Stand) score() float64 {
	return float64(is.UpdatedAt.UnixMilli()) + float64(is.Revision%1024)/1024
}

// set is that of the ticket's state.
func (is Stand) set() string {
	if is.Damaged {
		return setDamaged
	}
	return string(is.State)
}

func (is Stand) marks() string {
	marks := ""
	if is.Failed {
		marks += markFailed
	}
	if is.HighRisk != nil && *is.HighRisk {
		marks += markHighRisk
	}
	return marks
}

// Touch notes how a ticket stands that was written.
func (s *Store) Touch(id TicketID, is Stand) { s.touch(id, entry{Stand: is, score: is.score()}) }

func (s *Store) touch(id TicketID, e entry) {
	x := s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	last, known := x.touched[id]
	switch {
	case known && last.score > e.score:
		return // the answers of two writes may come in another order
	case !known && len(x.touched) == touchedMax:
		x.dropped = true
		return
	}
	e.wrong = max(e.wrong, last.wrong)
	x.touched[id] = e
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// KeepIndex writes the index until the context ends, and then what is left.
func (s *Store) KeepIndex(ctx context.Context) {
	for {
		ended := ctx.Err() != nil
		select {
		case <-s.index.wake:
			s.owe(ctx)
			select {
			case <-time.After(indexDelay):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		err := s.flushIndex(context.WithoutCancel(ctx))
		if err == nil {
			s.paid(context.WithoutCancel(ctx))
			s.behind.Over("")
		} else if s.behind.Due("", err.Error()) {
			s.c.Logger.Warn("cannot write the index of tickets; listings lack some until it can be", "error", err)
		}
		if ended {
			return
		}
	}
}

// owe notes that this daemon has yet to index what it wrote. Should it die before, the note stays, and has the tickets walked through.
func (s *Store) owe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, indexDelay)
	defer cancel()
	s.index.mu.Lock()
	run := s.index.run
	s.index.mu.Unlock()
	s.c.Redis.ZAddNX(ctx, s.Keys.owed(), redis.Z{Score: float64(time.Now().UnixMilli()), Member: run})
}

// paid takes the note away, unless some of what it is about was dropped.
func (s *Store) paid(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, indexDelay)
	defer cancel()
	x := s.index
	x.mu.Lock()
	run, dropped := x.run, x.dropped
	if dropped {
		x.run, x.dropped = rand.Text(), false
	}
	x.mu.Unlock()
	if !dropped {
		s.c.Redis.ZRem(ctx, s.Keys.owed(), run)
	}
}

// flushIndex writes what was touched. What could not be written is touched again.
func (s *Store) flushIndex(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	x := s.index
	if err := x.writing.Enter(ctx); err != nil {
		return err
	}
	defer x.writing.Leave()
	x.mu.Lock()
	touched := x.touched
	x.touched = map[TicketID]entry{}
	x.mu.Unlock()
	left, err := s.place(ctx, touched)
	for id, e := range left {
		s.touch(id, e)
	}
	return err
}

// placing is one script of a batch.
type placing struct {
	ids  []TicketID
	key  string
	args []any
}

// place writes entries into the index of all and those of their tasks. It returns those that could not be written to both.
func (s *Store) place(ctx context.Context, entries map[TicketID]entry) (left map[TicketID]entry, err error) {
	left = map[TicketID]entry{}
	calls := s.placings(entries)
	for trip := range slices.Chunk(calls, indexTrip) {
		pipe := s.c.Redis.Pipeline()
		answers := make([]*redis.Cmd, len(trip))
		for i, c := range trip {
			answers[i] = indexScript.linked().EvalSha(ctx, pipe, []string{c.key}, c.args...)
		}
		_, _ = pipe.Exec(ctx) // each has its own error
		for i, c := range trip {
			failed := answers[i].Err()
			if redis.HasErrorPrefix(failed, "NOSCRIPT") {
				failed = indexScript.linked().Eval(ctx, s.c.Redis, []string{c.key}, c.args...).Err()
			}
			if failed != nil {
				err = Unavailable(failed)
				for _, id := range c.ids {
					left[id] = entries[id]
				}
			}
		}
	}
	return left, cmp.Or(err, s.noteTasks(ctx, entries))
}

// placings are the scripts that write entries: that of all, and one for each task, or several of them.
func (s *Store) placings(entries map[TicketID]entry) (calls []placing) {
	ids := map[string][]TicketID{all: slices.Collect(maps.Keys(entries))}
	for id := range entries {
		ids[id.Task] = append(ids[id.Task], id)
	}
	for part, its := range ids {
		most := ""
		if part == all {
			most = strconv.Itoa(indexMost)
		}
		for some := range slices.Chunk(its, indexBatch) {
			args := []any{s.c.Keep.Milliseconds(), most, string(Finished), string(Notifying)}
			for _, id := range some {
				e, member := entries[id], string(id.Asset)
				state, marks := e.set(), e.marks()
				switch {
				case part == all:
					member = id.String()
				case id.Asset.IsReport() && state != "":
					state, marks = setReports, ""
				}
				args = append(args, member, state, decimal(e.score), marks, decimal(e.wrong))
			}
			calls = append(calls, placing{some, s.Keys.Index(part, "where"), args})
		}
	}
	return calls
}

// noteTasks notes when tasks were last written to, and drops those that are older than any ticket.
func (s *Store) noteTasks(ctx context.Context, entries map[TicketID]entry) error {
	last := map[string]float64{}
	for id, e := range entries {
		if e.State != "" {
			last[id.Task] = max(last[id.Task], e.score)
		}
	}
	if len(last) == 0 {
		return nil
	}
	var members []redis.Z
	for task, score := range last {
		members = append(members, redis.Z{Score: score, Member: task})
	}
	_, err := s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAddArgs(ctx, s.Keys.Tasks(), redis.ZAddArgs{GT: true, Members: members})
		p.ZRemRangeByScore(ctx, s.Keys.Tasks(), "-inf", decimal(float64(time.Now().Add(-s.c.Keep).UnixMilli())))
		return nil
	})
	return unavailableOrNil(err)
}

// decimal is a score as Redis takes it, exact.
func decimal(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }
