// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// found is a ticket as a listing read it.
type found struct {
	Ticket
	stand Stand
	host  string // of its newest claim, if that is the asset's newest; or empty
	ok    bool
	gone  bool // there is no such ticket
}

// on reports whether a host has to do with it.
func (f *found) on(host string) bool {
	if f.host == host {
		return true
	}
	for _, step := range f.Steps {
		if step.Host == host {
			return true
		}
	}
	return false
}

// in reports whether a ticket that stands so is in a set of the index.
func (is Stand) in(set string) bool {
	switch set {
	case setDamaged:
		return is.Damaged
	case setFailed:
		return is.Failed
	case setHighRisk:
		return is.HighRisk != nil && *is.HighRisk
	case setReports:
		return true
	}
	return set == string(is.State) && !is.Damaged
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

// readAll reads tickets without facts and bodies, in three trips: which fields each has, those that are listed, and what was recorded.
// One whose key is no hash is neither ok nor gone. The holder is read beside the ticket, not with it.
func (s *Store) readAll(ctx context.Context, some []candidate) ([]found, error) {
	if len(some) == 0 {
		return nil, nil
	}
	asked := make([]listed, len(some))
	err := s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for i, one := range some {
			asked[i] = listed{id: one.id, names: pipe.HKeys(ctx, s.Keys.Ticket(one.id))}
		}
	})
	if err != nil {
		return nil, err
	}
	err = s.listTogether(ctx, func(pipe redis.Pipeliner) {
		for i := range asked {
			one := &asked[i]
			if len(one.names.Val()) == 0 {
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
	tickets := make([]found, len(some))
	for i, one := range asked {
		if len(hashes[i]) == 0 {
			if tickets[i].gone = one.names.Err() == nil && one.fields == nil; !tickets[i].gone && s.unread.Due("", one.id.String()) {
				s.c.Logger.Warn("a ticket cannot be listed: what stands at its key is no hash", "key", s.Keys.Ticket(one.id))
			}
			continue
		}
		tickets[i] = one.found(hashes[i], records[i])
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

func (l *listed) found(h Hash, records Records) (f found) {
	snap := Snapshot{
		Hash: h, Records: records, Lock: l.lock.Val(), Left: max(l.left.Val(), 0), Grant: decodeGrant(textsOf(l.grant.Val())),
	}
	f.Ticket, _ = snap.Ticket(l.id) // what is damaged is shown as such
	f.dropFacts()
	f.ok = true
	f.Bytes = h.Size() + records.Size()
	f.stand = h.stand()
	f.stand.Damaged = f.Damaged != ""
	if snap.Grant.Ticket == l.id.String() {
		f.host = snap.Grant.Host
	}
	return f
}
