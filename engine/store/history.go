// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// How much of a history is read at once: so many elements of the log at first, then as many as have about so many bytes.
const (
	historyFirst = 4
	historyMost  = 512
	historyBytes = 256 << 10

	HistoryWeight = 2 * historyBytes // what reading one takes of memory, in bytes
)

// together sends commands together, in the time that one call may ask Redis.
func (s *Store) together(ctx context.Context, add func(redis.Pipeliner, context.Context)) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	_, err := s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		add(p, ctx)
		return nil
	})
	return unavailableOrNil(err)
}

// History reads a ticket's accepted writes, oldest first, and its refused ones.
func (s *Store) History(ctx context.Context, id TicketID) (events, refused []Event, err error) {
	events = []Event{}
	refused, err = s.EachEvent(ctx, id, func(page []Event) error {
		events = append(events, page...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return events, refused, nil
}

// EachEvent hands a ticket's accepted writes over page by page, oldest first, and returns the refused ones. Without a ticket it is an
// ErrTicketNotFound. What each returns ends it, and is returned.
func (s *Store) EachEvent(ctx context.Context, id TicketID, each func(page []Event) error) (refused []Event, err error) {
	var length *redis.IntCmd
	var list *redis.StringSliceCmd
	var exists *redis.IntCmd
	err = s.together(ctx, func(p redis.Pipeliner, ctx context.Context) {
		exists, length = p.Exists(ctx, s.Keys.Ticket(id), s.Keys.Log(id)), p.LLen(ctx, s.Keys.Log(id))
		list = p.LRange(ctx, s.Keys.Refused(id), 0, -1)
	})
	if err != nil {
		return nil, err
	}
	if exists.Val() == 0 {
		return nil, notFound()
	}
	seq := int64(0)
	var left []string // the newest event that was read, whose records may follow
	for from, n := int64(0), int64(historyFirst); from < length.Val(); {
		var log *redis.StringSliceCmd
		until := min(from+n, length.Val()) - 1 // with whatever is counted there meanwhile
		err := s.together(ctx, func(p redis.Pipeliner, ctx context.Context) { log = p.LRange(ctx, s.Keys.Log(id), from, until) })
		if err != nil {
			return nil, err
		}
		elements, size := append(left, log.Val()...), 0
		for _, element := range log.Val() {
			size += len(element)
		}
		from, left = until+1, nil
		if from < length.Val() && len(log.Val()) > 0 {
			newest := len(elements) - 1
			for newest > 0 && strings.HasPrefix(elements[newest], factsBegin) {
				newest--
			}
			elements, left = elements[:newest:newest], slices.Clone(elements[newest:])
		}
		page := make([]Event, 0, len(elements))
		for _, e := range decodeEvents(elements) {
			seq++
			e.Seq = seq
			page = append(page, e.Event)
		}
		if len(page) > 0 {
			if err := each(page); err != nil {
				return nil, err
			}
		}
		n = min(max(n*historyBytes/int64(max(size, 1)), 1), 2*n, historyMost)
	}
	refused = []Event{}
	for _, entry := range list.Val() {
		refused = append(refused, refusedEvent(entry))
	}
	return refused, nil
}

// logged is an event as it stands in the log, with what it recorded.
type logged struct {
	Event
	summary string // of a step
	content string // of a notification: JSON, without its facts
}

// decodeEvents decodes elements of a log, in which each event is followed by what it recorded: a step by its facts, unless it has none,
// a notification by its content and its facts.
func decodeEvents(elements []string) (events []logged) {
	for _, element := range elements {
		if last := len(events) - 1; strings.HasPrefix(element, factsBegin) && last >= 0 {
			switch e := &events[last]; {
			case e.Event.Event == "notifying" && e.content == "":
				e.content = element
			case json.Valid([]byte(element)):
				e.Facts = json.RawMessage(element)
			default: // Redis has damaged it: no answer could hold it, and its record is missing
				e.Facts = nil
			}
			continue
		}
		f := strings.SplitN(element, "\t", 10) // as lua/common.lua joins them
		if len(f) < 10 {
			continue
		}
		e := logged{Event: Event{
			At: millis(f[0]), Event: f[1], From: State(f[2]), To: State(f[3]), Token: number(f[4]), Step: f[5], Host: f[6], Agent: f[7],
			Count: number(f[8]), Reason: f[9],
		}}
		if e.Event.Event == "step" {
			e.summary, e.Reason, e.Facts = f[9], "", json.RawMessage(noFacts)
		}
		events = append(events, e)
	}
	return events
}

// refusedEvent decodes 'COUNT MS REASON JSON', as lua/common.lua writes it.
func refusedEvent(entry string) Event {
	part := strings.SplitN(entry, " ", 4)
	if len(part) < 4 {
		return Event{}
	}
	var r Refusal
	_ = json.Unmarshal([]byte(part[3]), &r) // made by this package
	return Event{
		At: millis(part[1]), Event: r.Event, To: r.To, Step: r.Step, Token: r.Token, Host: r.Host, Agent: r.Agent,
		Reason: part[2], Count: number(part[0]),
	}
}
