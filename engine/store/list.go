// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"time"
)

// CallTimeout is the time that one call may ask Redis, with its retries and with its wait for calls before it.
const CallTimeout = 4 * time.Second

// A listing reads so many tickets at a time, and ends after so long or when it has so many bytes, whatever it was asked for; what is left
// is behind the cursor.
const (
	listBatch = 100
	listTime  = 2500 * time.Millisecond
	listBytes = 1 << 20

	ListWeight = 2 * listBytes // what one takes of memory, in bytes
)

// TicketQuery selects tickets. What is empty or false selects all.
type TicketQuery struct {
	Asset    Asset
	Prefix   string // of the asset
	Task     string
	State    State
	Since    time.Time // of the last write
	Host     string    // where it is held, was held last, or a step was recorded
	HighRisk bool
	Failed   bool // a failure is recorded, or FAILED
	Damaged  bool // as far as that was found
	Held     bool // by a claim, now
	Stuck    bool // see stuck.go
	Limit    int  // 1 to 1000
	Cursor   string
}

// TicketPage is some of the tickets that were asked for.
type TicketPage struct {
	Tickets []Ticket
	Cursor  string // empty on the last page
	// Incomplete: tickets may be missing. Redis lost data, and nobody has walked through all tickets since; or the index cannot be written, or
	// a ticket not be read.
	Incomplete bool
}

// Tickets lists tickets, the one written last first, without facts. A page that is not the last is short only when the tickets are
// large, or when so few of many match that the call's time is over. A cursor that it did not make is an ErrInvalidCursor.
func (s *Store) Tickets(ctx context.Context, q TicketQuery) (TicketPage, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	at, err := parsePosition(q.Cursor)
	if err != nil {
		return TicketPage{}, err
	}
	page := TicketPage{Tickets: []Ticket{}}
	c := &candidates{s: s, q: q, at: at, until: begun.Add(listTime)}
	if q.Asset == "" || q.Stuck {
		if c.now, page.Incomplete, err = s.indexed(ctx); err != nil {
			return TicketPage{}, err
		}
	}
	c.open()
	size, last := int64(0), ""
	for n := min(q.Limit+1, listBatch); ; n = listBatch {
		some, err := c.next(ctx, n)
		if err != nil {
			return TicketPage{}, err
		}
		found, err := s.readAll(ctx, some)
		if err != nil {
			return TicketPage{}, err
		}
		matches, err := c.matches(ctx, found)
		if err != nil {
			return TicketPage{}, err
		}
		for i, one := range some {
			s.repair(one, found[i])
			page.Incomplete = page.Incomplete || !found[i].ok && !found[i].gone
			switch {
			case !matches[i]:
			case len(page.Tickets) == q.Limit:
				page.Cursor = last
				return page, nil
			default:
				page.Tickets = append(page.Tickets, found[i].Ticket)
				last = one.position.String()
				if size += found[i].Bytes; size > listBytes {
					page.Cursor = last
					return page, nil
				}
			}
		}
		switch {
		case c.ended():
			return page, nil
		case time.Now().After(c.until):
			page.Cursor = c.at.String()
			return page, nil
		}
	}
}

// matches reports which of what was read is what was asked for.
func (c *candidates) matches(ctx context.Context, found []found) ([]bool, error) {
	matches := make([]bool, len(found))
	q := c.q
	for i := range found {
		t := &found[i].Ticket
		matches[i] = found[i].ok &&
			(q.Task == "" || t.ID.Task == q.Task) &&
			(q.State == "" || t.State == q.State) &&
			!t.UpdatedAt.Before(q.Since) &&
			(q.Host == "" || found[i].on(q.Host)) &&
			(!q.HighRisk || t.HighRisk != nil && *t.HighRisk) &&
			(!q.Failed || found[i].stand.Failed) &&
			(!q.Damaged || found[i].stand.Damaged) &&
			(!q.Held || t.Holder != nil) &&
			(!q.Stuck || t.Holder == nil && !Final(t.State))
	}
	if q.Stuck {
		return matches, c.stuck(ctx, found, matches)
	}
	return matches, nil
}

// repair puts the index right where it says of a ticket what is not so.
func (s *Store) repair(one candidate, f found) {
	switch {
	case one.set == "":
	case f.gone:
		s.touch(one.id, entry{score: one.score})
	case f.ok && !f.stand.in(one.set):
		s.touch(one.id, entry{Stand: f.stand, score: f.stand.score(), wrong: one.score})
	}
}
