// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Snapshot is a ticket, and its asset's lock and newest grant, at one moment.
type Snapshot struct {
	Hash
	Records
	Big   bool          // these are only some fields, and no records
	Size  int64         // bytes of facts and bodies; 0 when all was asked for
	Lock  string        // the nonce that holds the asset, or ""
	Left  time.Duration // that the lock has left
	Grant Grant
}

// Grant is the newest grant of an asset; the zero value is none.
type Grant struct {
	Token  int64
	Nonce  string
	Ticket string
	Host   string
	Agent  string // pid/uid
	At     time.Time
	Forced bool // an administrator made it; nobody holds it
}

// grantFields are those that a grant is decoded from.
var grantFields = []string{"nonce", "ticket", "host", "agent", "at", "forced", "token"}

func decodeGrant(g []string) Grant {
	if len(g) != len(grantFields) {
		return Grant{}
	}
	return Grant{Nonce: g[0], Ticket: g[1], Host: g[2], Agent: g[3], At: millis(g[4]), Forced: g[5] != "", Token: number(g[6])}
}

// readScript writes nothing.
var readScript = newScript("read", "common")

// Read reads all of a ticket. Errors: as of all calls, ErrUnavailable, or the context's cause when it was cancelled.
func (s *Store) Read(ctx context.Context, id TicketID) (Snapshot, error) { return s.read(ctx, id, "") }

// Peek reads no facts and no bodies: of a ticket that has any, only state, flow, run, intent, owner and whether it has a notification.
func (s *Store) Peek(ctx context.Context, id TicketID) (Snapshot, error) {
	return s.ReadUpTo(ctx, id, 0)
}

// ReadUpTo reads a ticket that has no more than so many bytes of facts and bodies; at a larger one it peeks.
func (s *Store) ReadUpTo(ctx context.Context, id TicketID, most int64) (Snapshot, error) {
	return s.read(ctx, id, strconv.FormatInt(most, 10))
}

func (s *Store) read(ctx context.Context, id TicketID, most string) (Snapshot, error) {
	last := s.c.Watch.Token(id.Asset)
	r, err := s.run(ctx, readScript, id, Writer{}, "", most)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{
		Hash: r.hash(0), Big: r.code == big, Lock: r.text(1), Left: max(time.Duration(r.number(2)), 0) * time.Millisecond,
		Grant: decodeGrant(r.texts(3)), Size: r.number(4), Records: Records{},
	}
	for i := range r.list(5) {
		one := textsOf(reply{rest: r.list(5)}.list(i))
		record, ok := decodeRecord(one[0], snap.Hash[one[0]], one[1:], true)
		if !ok {
			continue // who needs it is told that it is missing
		}
		if snap.Records[one[0]] = record; record.Notification != nil {
			snap.Hash["notification"], _ = encode(record.Notification)
		}
	}
	if snap.Grant.Token > 0 {
		s.c.Watch.Found(id.Asset, last, snap.Grant.Token)
	}
	return snap, nil
}

// Holder is who holds the asset; the zero value when nobody does. A lock that has no grant yet is somebody about to mint.
func (s *Snapshot) Holder() Holder {
	if s.Lock == "" {
		return Holder{}
	}
	h := Holder{Remaining: s.Left}
	if g := s.Grant; s.Lock == g.Nonce {
		h.Host, h.Since = g.Host, g.At
		h.Task = g.Ticket[strings.LastIndexByte(g.Ticket, '/')+1:]
		pid, uid, _ := strings.Cut(g.Agent, "/")
		h.PID, _ = strconv.Atoi(pid)
		n, _ := strconv.ParseUint(uid, 10, 32)
		h.UID = uint32(n)
	}
	return h
}

// Damaged reports whether something that the ticket recorded is missing.
func (s *Snapshot) Damaged() bool {
	if s.Big {
		return false
	}
	_, err := s.Hash.Ticket(TicketID{}, s.Records)
	return err != nil
}

// Ticket decodes the ticket, with its holder. Errors: ErrTicketNotFound, ErrTicketDamaged beside what there is.
func (s *Snapshot) Ticket(id TicketID) (Ticket, error) {
	if len(s.Hash) == 0 {
		return Ticket{}, notFound()
	}
	t, err := s.Hash.Ticket(id, s.Records)
	if s.Lock != "" && s.Lock == s.Grant.Nonce && s.Grant.Ticket == id.String() {
		h := s.Holder()
		h.Next = t.next()
		t.Holder = &h
	}
	return t, err
}
