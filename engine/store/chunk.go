// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

var (
	chunkScript  = newScript("chunk")
	markScript   = newScript("mark")
	unmarkScript = newScript("unmark")
)

const (
	marksMost = 1 << 14 // of a task: four of the longest lists. What is beyond is read each time
	listsMost = 64      // of a task

	// For how long after the marks were taken away nothing is marked, and within which part of that the ticket must be reopened: far
	// longer than the call takes. It is for a daemon that dies between the two, and a reopen that lands when nobody waits for it.
	unmarkedFor  = 30 * time.Second
	reopenWithin = unmarkedFor / 2
)

// Chunk is what is known of some tickets of one task. Its lists are places among those that were asked for.
type Chunk struct {
	Open     []int // there is no ticket, or it is not terminal, or damaged
	Failed   []int
	HighRisk []int // terminal ones

	// What this holds for: it is another when a ticket of the task was reopened, or Redis lost data. Empty when nobody can tell.
	Basis string
}

// mark is what is kept of a chunk whose tickets are all terminal.
type mark struct {
	Standing string `json:"standing"` // of Redis' data, when the tickets were read
	Oldest   int64  `json:"oldest"`   // when the first of them was written last, ms
	Failed   []int  `json:"failed,omitempty"`
	HighRisk []int  `json:"high_risk,omitempty"`
}

// Chunk reads which of some tickets of one task are not done yet. When none is open, that is marked, and whoever asks for the same
// tickets next, in the same order, is answered from the mark. standing names the data that Redis has; a mark that was made on other
// data counts for nothing. With none there are no marks. Errors: ErrUnavailable.
func (s *Store) Chunk(ctx context.Context, task string, of []Asset, standing string) (Chunk, error) {
	digest := sha256.New()
	ids := make([]TicketID, len(of))
	for i, a := range of {
		digest.Write([]byte(a + "\n"))
		ids[i] = ID(a, task)
	}
	field, m := hex.EncodeToString(digest.Sum(nil)[:16]), marked{}
	if standing != "" { // read before the tickets are
		var err error
		if m, err = s.marked(ctx, task, field); err != nil {
			return Chunk{}, err
		}
		if m.Standing == standing && m.age < s.c.Keep && m.fits(len(of)) { // else the first of its tickets is gone
			return Chunk{[]int{}, m.Failed, m.HighRisk, basis(m.epoch, standing)}, nil
		}
	}
	states, err := s.States(ctx, ids)
	if err != nil {
		return Chunk{}, err
	}
	c, oldest := Chunk{Open: []int{}, Basis: basis(m.epoch, standing)}, states[0].UpdatedAt
	for i, t := range states {
		switch {
		case !Final(t.State), t.Damaged:
			c.Open = append(c.Open, i)
			continue
		case t.State == Failed:
			c.Failed = append(c.Failed, i)
		}
		if t.HighRisk != nil && *t.HighRisk {
			c.HighRisk = append(c.HighRisk, i)
		}
		if t.UpdatedAt.Before(oldest) {
			oldest = t.UpdatedAt
		}
	}
	if len(c.Open) == 0 && m.open {
		value, _ := json.Marshal(mark{standing, oldest.UnixMilli(), c.Failed, c.HighRisk})
		// A mark that is not made costs others a reading.
		_ = markScript.Run(ctx, s.c.Redis, []string{s.Keys.Marks(task)}, field, m.epoch, value, s.c.Keep.Milliseconds(), marksMost).Err()
	}
	return c, nil
}

// fits says whether a mark is of so many tickets: one that is damaged counts for nothing.
func (m mark) fits(tickets int) bool {
	return !slices.ContainsFunc(slices.Concat(m.Failed, m.HighRisk), func(place int) bool { return place < 0 || place >= tickets })
}

// marked is what stands of a chunk.
type marked struct {
	mark
	epoch string        // of the marks
	open  bool          // something may be marked in that epoch
	age   time.Duration // since the first of its tickets was written last
}

func (s *Store) marked(ctx context.Context, task, field string) (marked, error) {
	v, err := chunkScript.Run(ctx, s.c.Redis, []string{s.Keys.Marks(task), s.Keys.reopening(task), s.Keys.Index(task, setDamaged)}, field, rand.Text(), s.c.Keep.Milliseconds()).StringSlice()
	if err != nil {
		return marked{}, Unavailable(err)
	}
	m := marked{epoch: v[0], open: len(v) == 3}
	if json.Unmarshal([]byte(v[1]), &m.mark) != nil {
		m.mark = mark{}
	}
	m.age = time.Duration(number(v[2])-m.Oldest) * time.Millisecond
	return m, nil
}

// basis is short for what an answer rests on.
func basis(epoch, standing string) string {
	if standing == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(epoch + "/" + standing))
	return hex.EncodeToString(sum[:8])
}

// Unmark takes the marks of a ticket's task away: before it is reopened, so that none is left if this daemon dies, and after it, so that
// none rests on what was read before. A Reopen after until, by the clock of the ticket's master, comes too late. Errors: ErrUnavailable.
func (s *Store) Unmark(ctx context.Context, id TicketID) (until time.Time, err error) {
	master, err := s.scripts.master(ctx, s.Keys.Ticket(id))
	if err != nil {
		return until, Unavailable(err)
	}
	now, err := master.Time(ctx).Result() // before: so the marks stay away for longer
	if err != nil {
		return until, Unavailable(err)
	}
	err = unmarkScript.Run(ctx, s.c.Redis, []string{s.Keys.Marks(id.Task), s.Keys.reopening(id.Task)}, rand.Text(), unmarkedFor.Milliseconds()).Err()
	return now.Add(reopenWithin), unavailableOrNil(err)
}

// NoteList notes that a list with that digest and so many assets is worked on under a task. Errors: ErrUnavailable.
func (s *Store) NoteList(ctx context.Context, task, digest string, total int) (lists map[string]int, err error) {
	key := s.Keys.Lists(task)
	noted, err := s.c.Redis.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, Unavailable(err)
	}
	if _, known := noted[digest]; known || len(noted) < listsMost {
		if err := s.c.Redis.HSet(ctx, key, digest, total).Err(); err != nil {
			return nil, Unavailable(err)
		}
		noted[digest] = strconv.Itoa(total)
	}
	lists = map[string]int{}
	for digest, total := range noted {
		lists[digest] = int(number(total))
	}
	return lists, unavailableOrNil(s.c.Redis.PExpire(ctx, key, s.c.Keep).Err())
}
