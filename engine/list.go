// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A listing reads so many tickets at a time, and at most so many in one call; what is left is behind the cursor.
const (
	listBatch = 100
	listMost  = 2000
)

// TicketQuery selects tickets.
type TicketQuery struct {
	Asset  Asset // empty: all
	State  State // empty: all
	Limit  int   // 1 to 1000
	Cursor string
}

// Tickets lists tickets, the one written last first, without facts. The cursor is empty on the last page. A page may be short
// or empty and yet have a cursor, when a filter passed over many. A cursor that it did not make is an *InvalidError.
func (e *Engine) Tickets(ctx context.Context, q TicketQuery) ([]Ticket, string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := e.index.flush(ctx); err != nil {
		return nil, "", err
	}
	at, err := parsePosition(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	tickets := []Ticket{}
	for range listMost / listBatch {
		members, err := e.page(ctx, q.Asset, at)
		if err != nil {
			return nil, "", unavailable(err)
		}
		found, err := e.readAll(ctx, q.Asset, members)
		if err != nil {
			return nil, "", err
		}
		for i, m := range members {
			at = position{m.Score, m.Member.(string)}
			if found[i] == nil || q.State != "" && found[i].State != q.State {
				continue
			}
			tickets = append(tickets, *found[i])
			if len(tickets) == q.Limit {
				if i == len(members)-1 && len(members) < listBatch {
					return tickets, "", nil
				}
				return tickets, at.String(), nil
			}
		}
		if len(members) < listBatch {
			return tickets, "", nil
		}
	}
	return tickets, at.String(), nil
}

// position is a place in a listing: the score and the member of the ticket before it.
type position struct {
	score  float64
	member string
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatFloat(p.score, 'f', -1, 64) + " " + p.member))
}

func parsePosition(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	score, member, ok := strings.Cut(string(raw), " ")
	n, numErr := strconv.ParseFloat(score, 64)
	if err != nil || !ok || numErr != nil {
		return position{}, &InvalidError{"cursor", "is not one that a listing gave"}
	}
	return position{n, member}, nil
}

// page reads the members after a place, by falling score, then falling member, as Redis sorts them.
func (e *Engine) page(ctx context.Context, a Asset, at position) ([]redis.Z, error) {
	key, from := e.keys.index(), "+inf"
	if a != "" {
		key = e.keys.tickets(a)
	}
	if at.member != "" {
		from = strconv.FormatFloat(at.score, 'f', -1, 64)
	}
	var page []redis.Z
	for offset := int64(0); ; offset += listBatch {
		got, err := e.redis.ZRevRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{
			Max: from, Min: "-inf", Offset: offset, Count: listBatch,
		}).Result()
		if err != nil {
			return nil, err
		}
		for _, z := range got {
			if z.Score < at.score || at.member == "" || z.Member.(string) < at.member {
				page = append(page, z)
			}
		}
		if len(got) < listBatch {
			return page, nil
		}
		if len(page) >= listBatch {
			return page[:listBatch], nil
		}
	}
}

// readAll reads tickets in one pipeline; nil for one that is gone. The holder is read beside the ticket, not with it.
func (e *Engine) readAll(ctx context.Context, a Asset, members []redis.Z) ([]*Ticket, error) {
	if len(members) == 0 {
		return nil, nil
	}
	type pending struct {
		id     TicketID
		fields *redis.MapStringStringCmd
		lock   *redis.StringCmd
		left   *redis.DurationCmd
		grant  *redis.SliceCmd
	}
	asked := make([]pending, len(members))
	pipe := e.redis.Pipeline()
	for i, m := range members {
		id := TicketID{a, m.Member.(string)}
		if a == "" {
			var err error
			if id, err = ParseTicketID(m.Member.(string)); err != nil {
				return nil, fmt.Errorf("cannot read the index of tickets: %w", err)
			}
		}
		asked[i] = pending{
			id: id, fields: pipe.HGetAll(ctx, e.keys.ticket(id)), lock: pipe.Get(ctx, e.keys.lock(id.Asset)),
			left:  pipe.PTTL(ctx, e.keys.lock(id.Asset)),
			grant: pipe.HMGet(ctx, e.keys.grant(id.Asset), "nonce", "ticket", "host", "agent", "at", "forced", "token"),
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unavailable(err)
	}
	tickets := make([]*Ticket, len(members))
	for i, p := range asked {
		if len(p.fields.Val()) == 0 {
			continue
		}
		s := snapshot{fields: p.fields.Val(), lock: p.lock.Val(), left: max(p.left.Val(), 0).Milliseconds()}
		s.setGrant((reply{rest: []any{p.grant.Val()}}).texts(0))
		t, err := s.ticket(p.id)
		if err != nil {
			return nil, err
		}
		t.dropFacts()
		tickets[i] = &t
	}
	return tickets, nil
}

func (t *Ticket) dropFacts() {
	for name, step := range t.Steps {
		step.Facts = nil
		t.Steps[name] = step
	}
	if t.Notification != nil {
		t.Notification.Facts = nil
	}
}
