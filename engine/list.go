// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/base64"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A listing reads so many tickets at a time, at most so many in one call, and ends when it has so many bytes; what is left is behind
// the cursor.
const (
	listBatch = 100
	listMost  = 2000
	listBytes = 1 << 20
)

// TicketQuery selects tickets.
type TicketQuery struct {
	Asset  Asset // empty: all
	State  State // empty: all
	Limit  int   // 1 to 1000
	Cursor string
}

// Tickets lists tickets, the one written last first, without facts. The cursor is empty on the last page. A page may be short
// or empty and yet have a cursor, when a filter passed over many, or the tickets are large. A cursor that it did not make is an
// *InvalidError. A ticket that is damaged is left out.
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
	if err := e.weigh(ctx, 2*listBytes); err != nil {
		return nil, "", err
	}
	tickets, size := []Ticket{}, int64(0)
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
			size += found[i].bytes
			if len(tickets) == q.Limit || size > listBytes {
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
	if err != nil || !ok || numErr != nil || math.IsNaN(n) || math.IsInf(n, 0) {
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

// damaged is the ticket that could not be read last, for the log.
type damaged struct {
	mu   sync.Mutex
	said said // guarded by mu
}

func (d *damaged) warn(log *slog.Logger, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said.warn(log, "a ticket is left out of the listings", err)
}

// listed is a ticket of a listing on its way.
type listed struct {
	id     TicketID
	names  *redis.StringSliceCmd
	wanted []string
	fields *redis.SliceCmd
	lock   *redis.StringCmd
	left   *redis.DurationCmd
	grant  *redis.SliceCmd
}

// readAll reads tickets without facts and bodies, in two trips: which fields each has, then those that are listed. nil is one that is
// gone or damaged. The holder is read beside the ticket, not with it.
func (e *Engine) readAll(ctx context.Context, a Asset, members []redis.Z) ([]*Ticket, error) {
	asked := make([]listed, len(members))
	err := e.together(ctx, func(pipe redis.Pipeliner) {
		for i, m := range members {
			id, err := TicketID{a, m.Member.(string)}, error(nil)
			if a == "" {
				if id, err = ParseTicketID(m.Member.(string)); err != nil {
					continue
				}
			}
			asked[i] = listed{id: id, names: pipe.HKeys(ctx, e.keys.ticket(id))}
		}
	})
	if err != nil {
		return nil, err
	}
	err = e.together(ctx, func(pipe redis.Pipeliner) {
		for i := range asked {
			one := &asked[i]
			if one.names == nil || len(one.names.Val()) == 0 {
				continue
			}
			one.wanted = listedFields(one.names.Val())
			one.fields = pipe.HMGet(ctx, e.keys.ticket(one.id), one.wanted...)
			one.lock, one.left = pipe.Get(ctx, e.keys.lock(one.id.Asset)), pipe.PTTL(ctx, e.keys.lock(one.id.Asset))
			one.grant = pipe.HMGet(ctx, e.keys.grant(one.id.Asset), "nonce", "ticket", "host", "agent", "at", "forced", "token")
		}
	})
	if err != nil {
		return nil, err
	}
	tickets := make([]*Ticket, len(members))
	for i, one := range asked {
		if one.fields == nil || len(one.fields.Val()) == 0 {
			continue
		}
		t, err := one.ticket()
		if err != nil {
			e.damaged.warn(e.log, err)
			continue
		}
		tickets[i] = &t
	}
	return tickets, nil
}

// together sends what is added to a pipeline. What Redis says to one command is that command's; only no answer is an error.
func (e *Engine) together(ctx context.Context, add func(redis.Pipeliner)) error {
	pipe := e.redis.Pipeline()
	add(pipe)
	cmds, _ := pipe.Exec(ctx)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && transient(err) {
			return unavailable(err)
		}
	}
	return nil
}

// listedFields are the fields that a listing needs of those that a ticket has.
func listedFields(names []string) []string {
	var wanted []string
	for _, name := range names {
		kind, _, _ := strings.Cut(name, ".")
		large := kind == "steps" || name == "notification"
		if kind != "body" && kind != "digest" && !(large && slices.Contains(names, "brief."+name)) {
			wanted = append(wanted, name)
		}
	}
	return wanted
}

func (l *listed) ticket() (Ticket, error) {
	s := snapshot{fields: make(map[string]string, len(l.wanted)), lock: l.lock.Val(), left: max(l.left.Val(), 0).Milliseconds()}
	for i, value := range l.fields.Val() {
		if text, ok := value.(string); ok {
			s.fields[strings.TrimPrefix(l.wanted[i], "brief.")] = text
		}
	}
	s.setGrant((reply{rest: []any{l.grant.Val()}}).texts(0))
	t, err := s.ticket(l.id)
	t.dropFacts()
	t.bytes = bytesOf(s.fields)
	return t, err
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
