// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redis/go-redis/v9"
)

// How much of a history is read at once: so many events at first, then as many as have about so many bytes.
const (
	historyFirst = 4
	historyMost  = 512
	historyBytes = 256 << 10

	HistoryWeight = 2 * historyBytes // what reading one takes of memory, in bytes
)

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

// EachEvent hands a ticket's accepted writes over page by page, oldest first, and returns the refused ones. Without any it is an
// ErrTicketNotFound. What each returns ends it, and is returned.
func (s *Store) EachEvent(ctx context.Context, id TicketID, each func(page []Event) error) (refused []Event, err error) {
	var newest *redis.XMessageSliceCmd
	var list *redis.StringSliceCmd
	err = s.together(ctx, func(p redis.Pipeliner, ctx context.Context) {
		newest = p.XRevRangeN(ctx, s.Keys.Log(id), "+", "-", 1)
		list = p.LRange(ctx, s.Keys.Refused(id), 0, -1)
	})
	if err != nil {
		return nil, err
	}
	if len(newest.Val()) == 0 {
		return nil, notFound()
	}
	end, _, _ := strings.Cut(newest.Val()[0].ID, "-") // with whatever is counted there meanwhile
	for from, n := "-", int64(historyFirst); ; {
		var log *redis.XMessageSliceCmd
		err := s.together(ctx, func(p redis.Pipeliner, ctx context.Context) { log = p.XRangeN(ctx, s.Keys.Log(id), from, end, n) })
		if err != nil {
			return nil, err
		}
		page, size := make([]Event, 0, n), 0
		for _, m := range log.Val() {
			page = append(page, accepted(m))
			for _, value := range m.Values {
				size += len(value.(string))
			}
		}
		if len(page) > 0 {
			if err := each(page); err != nil {
				return nil, err
			}
		}
		if int64(len(page)) < n {
			break
		}
		from = "(" + log.Val()[n-1].ID
		n = min(max(n*historyBytes/int64(max(size, 1)), 1), 2*n, historyMost)
	}
	refused = []Event{}
	for _, entry := range list.Val() {
		refused = append(refused, refusedEvent(entry))
	}
	return refused, nil
}

// accepted decodes an entry of a ticket's log; its id is SEQ-0.
func accepted(m redis.XMessage) Event {
	text := func(name string) string { s, _ := m.Values[name].(string); return s }
	seq, _, _ := strings.Cut(m.ID, "-")
	var data struct {
		Facts json.RawMessage `json:"facts"`
	}
	if s := text("data"); s != "" {
		_ = json.Unmarshal([]byte(s), &data) // made by this package; without it the event lacks its facts only
	}
	return Event{
		Seq: number(seq), At: millis(text("at")), Event: text("event"), From: State(text("from")), To: State(text("to")),
		Step: text("step"), Token: number(text("token")), Host: text("host"), Agent: text("agent"), Reason: text("reason"),
		Facts: data.Facts, Count: number(text("count")),
	}
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
