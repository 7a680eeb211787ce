// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Record is what a step or a notification recorded. It stands once, in the ticket's log; the ticket says at which place.
type Record struct {
	Step         Step
	Notification *Notification // nil: it is a step's
}

// Records are those of a ticket, by the field that says where each stands; or, known before the ticket is read, by field and value.
type Records map[string]Record

// Size is that of their texts and facts, in bytes.
func (all Records) Size() (n int64) {
	for _, r := range all {
		n += int64(len(r.Step.Summary) + len(r.Step.Facts))
		if r.Notification != nil {
			n += int64(len(r.Notification.Text) + len(r.Notification.Facts))
		}
	}
	return n
}

const (
	recordOf   = "record." // before a step, or notification
	ofContent  = recordOf + "notification"
	noFacts    = "{}"
	factsBegin = "{" // no event begins so
)

// span is from where to where in the log a record of these fields stands, with its facts or without.
func span(field, value string, facts bool) (first, last int64) {
	place, rest, _ := strings.Cut(value, " ")
	first = number(place)
	switch last = first; {
	case field == ofContent && facts:
		return first, first + 2
	case field == ofContent || facts && !strings.HasPrefix(rest, "0 "):
		return first, first + 1
	}
	return first, last
}

// decodeRecord decodes what stands there, if that is what these fields say: a log that was lost begins anew, so that other events come
// to stand at the place. Without facts their size is not looked at.
func decodeRecord(field, value string, elements []string, facts bool) (r Record, ok bool) {
	events := decodeEvents(elements)
	if len(events) != 1 {
		return r, false
	}
	e, size := events[0], sizeOf(value)
	if field == ofContent {
		r.Notification = &Notification{}
		if e.Event.Event != "notifying" || json.Unmarshal([]byte(e.content), r.Notification) != nil {
			return r, false
		}
		r.Notification.Facts = e.Facts
		return r, !facts || int64(len(e.content)+len(e.Facts)) == size
	}
	r.Step = Step{State: e.To, Summary: e.summary, Token: e.Token, Host: e.Host, At: e.At, Facts: e.Facts}
	return r, e.Event.Event == "step" && recordOf+e.Step == field && e.Facts != nil && (!facts || size == 0 || int64(len(e.Facts)) == size)
}

// sizeOf is how many bytes of facts a record has.
func sizeOf(value string) int64 {
	if f := strings.Fields(value); len(f) == 3 {
		return number(f[1])
	}
	return 0
}

// recordFields are all that a ticket can have.
func recordFields() []string {
	fields := []string{ofContent}
	for _, f := range flows {
		for _, step := range f.Steps() {
			fields = append(fields, recordOf+step)
		}
	}
	return fields
}

// outlives reports whether a log of so many elements is too short for what the hash says stands in it.
func (h Hash) outlives(log int64) bool {
	for field, value := range h {
		if first, last := span(field, value, true); strings.HasPrefix(field, recordOf) && max(first, last) >= log {
			return true
		}
	}
	return false
}

// Complete is the ticket that a write left, with its records: those that are known, and what the log has of the others. Errors:
// ErrTicketDamaged beside what there is, ErrUnavailable.
func (s *Store) Complete(ctx context.Context, id TicketID, h Hash, known Records) (Ticket, error) {
	records, err := s.records(ctx, []TicketID{id}, []Hash{h}, true, known)
	if err != nil {
		return Ticket{}, err
	}
	return h.Ticket(id, records[0])
}

// records reads those of some tickets, with facts or without, but for those that are known. One that is damaged is missing.
func (s *Store) records(ctx context.Context, ids []TicketID, hashes []Hash, facts bool, known Records) ([]Records, error) {
	type question struct {
		ticket int
		field  string
		answer *redis.StringSliceCmd
	}
	var asked []question
	all := make([]Records, len(ids))
	pipe := s.c.Redis.Pipeline()
	for i, h := range hashes {
		all[i] = Records{}
		for field, value := range h {
			if !strings.HasPrefix(field, recordOf) {
				continue
			}
			if r, ok := known[field+" "+value]; ok {
				all[i][field] = r
				continue
			}
			first, last := span(field, value, facts)
			asked = append(asked, question{i, field, pipe.LRange(ctx, s.Keys.Log(ids[i]), first, last)})
		}
	}
	if len(asked) == 0 {
		return all, nil
	}
	_, _ = pipe.Exec(ctx)
	for _, q := range asked {
		if err := q.answer.Err(); err != nil && Transient(err) {
			return nil, Unavailable(err)
		}
		if r, ok := decodeRecord(q.field, hashes[q.ticket][q.field], q.answer.Val(), facts); ok {
			all[q.ticket][q.field] = r
		}
	}
	return all, nil
}
