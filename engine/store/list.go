// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A listing reads so many tickets at a time, at most so many in one call, and ends when it has so many bytes; what is left is behind
// the cursor.
const (
	listBatch = 100
	listMost  = 2000
	listBytes = 1 << 20

	ListWeight = 2 * listBytes // what one takes of memory, in bytes
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
// ErrInvalidCursor. A ticket that is damaged is left out.
func (s *Store) Tickets(ctx context.Context, q TicketQuery) ([]Ticket, string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if err := s.flushIndex(ctx); err != nil {
		return nil, "", err
	}
	at, err := parsePosition(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	tickets, size := []Ticket{}, int64(0)
	for range listMost / listBatch {
		members, err := s.page(ctx, q.Asset, at)
		if err != nil {
			return nil, "", Unavailable(err)
		}
		found, err := s.readAll(ctx, q.Asset, members)
		if err != nil {
			return nil, "", err
		}
		for i, m := range members {
			at = position{m.Score, m.Member.(string)}
			if found[i] == nil || q.State != "" && found[i].State != q.State {
				continue
			}
			tickets = append(tickets, *found[i])
			size += found[i].Bytes
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
		return position{}, ErrInvalidCursor
	}
	return position{n, member}, nil
}

// page reads the members after a place, by falling score, then falling member, as Redis sorts them.
func (s *Store) page(ctx context.Context, a Asset, at position) ([]redis.Z, error) {
	key, from := s.Keys.Index(), "+inf"
	if a != "" {
		key = s.Keys.Tickets(a)
	}
	if at.member != "" {
		from = strconv.FormatFloat(at.score, 'f', -1, 64)
	}
	var page []redis.Z
	for offset := int64(0); ; offset += listBatch {
		got, err := s.c.Redis.ZRevRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{
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

// readAll reads tickets without facts and bodies, in three trips: which fields each has, those that are listed, and what was recorded. nil is
// one that is gone or damaged. The holder is read beside the ticket, not with it.
func (s *Store) readAll(ctx context.Context, a Asset, members []redis.Z) ([]*Ticket, error) {
	asked := make([]listed, len(members))
	err := s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for i, m := range members {
			id, err := TicketID{a, m.Member.(string)}, error(nil)
			if a == "" {
				if id, err = ParseTicketID(m.Member.(string)); err != nil {
					continue
				}
			}
			asked[i] = listed{id: id, names: pipe.HKeys(ctx, s.Keys.Ticket(id))}
		}
	})
	if err != nil {
		return nil, err
	}
	err = s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for i := range asked {
			one := &asked[i]
			if one.names == nil || len(one.names.Val()) == 0 {
				continue
			}
			one.wanted = listedFields(one.names.Val())
			one.fields = pipe.HMGet(ctx, s.Keys.Ticket(one.id), one.wanted...)
			one.lock, one.left = pipe.Get(ctx, s.Keys.Lock(one.id.Asset)), pipe.PTTL(ctx, s.Keys.Lock(one.id.Asset))
			one.grant = pipe.HMGet(ctx, s.Keys.Grant(one.id.Asset), grantFields...)
		}
	})
	if err != nil {
		return nil, err
	}
	ids, hashes := make([]TicketID, len(asked)), make([]Hash, len(asked))
	for i := range asked {
		ids[i], hashes[i] = asked[i].id, asked[i].hash()
	}
	records, err := s.records(ctx, ids, hashes, false, nil)
	if err != nil {
		return nil, err
	}
	tickets := make([]*Ticket, len(members))
	for i, one := range asked {
		if len(hashes[i]) == 0 {
			continue
		}
		t, err := one.ticket(hashes[i], records[i])
		if err != nil {
			if s.damaged.Due("", err.Error()) {
				s.c.Logger.Warn("a ticket is left out of the listings", "error", err)
			}
			continue
		}
		tickets[i] = &t
	}
	return tickets, nil
}

// listTogether sends what is added to a pipeline. What Redis says to one command is that command's; only no answer is an error.
func (s *Store) listTogether(ctx context.Context, add func(redis.Pipeliner)) error {
	pipe := s.c.Redis.Pipeline()
	add(pipe)
	cmds, _ := pipe.Exec(ctx)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && Transient(err) {
			return Unavailable(err)
		}
	}
	return nil
}

// listedFields are the fields that a listing needs of those that a ticket has.
func listedFields(names []string) []string {
	var wanted []string
	for _, name := range names {
		kind, _, _ := strings.Cut(name, ".")
		if kind != "body" {
			wanted = append(wanted, name)
		}
	}
	return wanted
}

func (l *listed) hash() Hash {
	if l.fields == nil {
		return nil
	}
	return zip(l.wanted, l.fields.Val())
}

func (l *listed) ticket(h Hash, records Records) (Ticket, error) {
	snap := Snapshot{
		Hash: h, Records: records, Lock: l.lock.Val(), Left: max(l.left.Val(), 0), Grant: decodeGrant(textsOf(l.grant.Val())),
	}
	t, err := snap.Ticket(l.id)
	t.dropFacts()
	t.Bytes = h.Size() + records.Size()
	return t, err
}
