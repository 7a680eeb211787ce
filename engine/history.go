// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// History reads a ticket's accepted writes, oldest first, and its refused ones.
func (e *Engine) History(ctx context.Context, id TicketID) (events, refused []Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var log *redis.XMessageSliceCmd
	var list *redis.StringSliceCmd
	_, err = e.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		log = p.XRange(ctx, e.keys.log(id), "-", "+")
		list = p.LRange(ctx, e.keys.refused(id), 0, -1)
		return nil
	})
	if err != nil {
		return nil, nil, unavailable(err)
	}
	if len(log.Val()) == 0 {
		return nil, nil, fmt.Errorf("%w: nobody has claimed it, or it is older than tickets are kept", ErrTicketNotFound)
	}
	events, refused = []Event{}, []Event{}
	for _, m := range log.Val() {
		events = append(events, accepted(m))
	}
	for _, entry := range list.Val() {
		refused = append(refused, refusedEvent(entry))
	}
	return events, refused, nil
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
		Facts: data.Facts,
	}
}

// refusedEvent decodes 'COUNT MS REASON JSON', as lua/common.lua writes it.
func refusedEvent(entry string) Event {
	part := strings.SplitN(entry, " ", 4)
	if len(part) < 4 {
		return Event{}
	}
	var r refusal
	_ = json.Unmarshal([]byte(part[3]), &r) // made by this package
	return Event{
		At: millis(part[1]), Event: r.Event, To: r.To, Step: r.Step, Token: r.Token, Host: r.Host, Agent: r.Agent,
		Reason: part[2], Count: number(part[0]),
	}
}
