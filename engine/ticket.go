// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/outbox"
)

// snapshot is what the script read answers: a ticket's hash, and the asset's lock and newest grant.
type snapshot struct {
	fields map[string]string
	big    bool   // these are only some
	size   int64  // bytes of facts and bodies; 0 when all was asked for
	lock   string // the nonce that holds the asset, or ""
	left   int64  // ms that the lock has left

	grantNonce, grantTicket, grantHost, grantAgent, grantAt string
	grantForced                                             bool // an administrator made it; nobody holds it
	grantToken                                              int64
}

// read reads all of a ticket.
func (e *Engine) read(ctx context.Context, id TicketID) (snapshot, error) { return e.readUpTo(ctx, id) }

// look reads no facts and no bodies: of a ticket that has any, only state, flow, run, intent, owner and the notification's digest.
func (e *Engine) look(ctx context.Context, id TicketID) (snapshot, error) {
	return e.readUpTo(ctx, id, 0)
}

// readUpTo reads a ticket, if it has no more bytes of facts and bodies than most; else it looks.
func (e *Engine) readUpTo(ctx context.Context, id TicketID, most ...any) (snapshot, error) {
	last := e.tokens.of(id.Asset)
	r, err := e.run(ctx, readScript, e.keys.all(id), e.args(id, 0, "", "", "", most...)...)
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{fields: r.pairs(0), big: r.code == codeBig, lock: r.text(1), left: max(r.number(2), 0), size: r.number(4)}
	s.setGrant(r.texts(3))
	e.found(id.Asset, last, s.grantToken)
	return s, nil
}

func (s *snapshot) setGrant(g []string) {
	if len(g) == 7 {
		s.grantNonce, s.grantTicket, s.grantHost, s.grantAgent, s.grantAt = g[0], g[1], g[2], g[3], g[4]
		s.grantForced, s.grantToken = g[5] != "", number(g[6])
	}
}

// once reports whether a channel was at_most_once for the host that froze the content. On a ticket from before that was frozen, too,
// this host's configuration counts.
func (s *snapshot) once(ch Channel) bool {
	frozen, ok := s.fields["once."+ch.Name]
	return frozen == "1" || !ok && ch.AtMostOnce
}

// readWithin is read within the time that one call may ask Redis, and lookWithin is look.
func (e *Engine) readWithin(ctx context.Context, id TicketID) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	return e.read(ctx, id)
}

func (e *Engine) lookWithin(ctx context.Context, id TicketID) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	return e.look(ctx, id)
}

// screen reads a ticket that is light; of another it says how large it is.
func (e *Engine) screen(ctx context.Context, id TicketID) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, e.allowance())
	defer cancel()
	return e.readUpTo(ctx, id, light)
}

// Ticket reads a ticket without a lock, or ErrTicketNotFound.
func (e *Engine) Ticket(ctx context.Context, id TicketID) (Ticket, error) {
	s, err := e.screen(ctx, id)
	if err == nil && s.big {
		if err = e.weigh(ctx, s.size); err == nil {
			s, err = e.readWithin(ctx, id)
		}
	}
	if err != nil {
		return Ticket{}, err
	}
	if len(s.fields) == 0 {
		return Ticket{}, fmt.Errorf("%w: nobody has claimed it, or it is older than tickets are kept", ErrTicketNotFound)
	}
	return s.ticket(id)
}

// holder is who holds the asset; the zero value when nobody does. A lock that has no grant yet is somebody about to mint.
func (s *snapshot) holder() Holder {
	if s.lock == "" {
		return Holder{}
	}
	h := Holder{Remaining: time.Duration(s.left) * time.Millisecond}
	if s.lock == s.grantNonce {
		h.Host, h.Since = s.grantHost, millis(s.grantAt)
		h.Task = s.grantTicket[strings.LastIndexByte(s.grantTicket, '/')+1:]
		pid, uid, _ := strings.Cut(s.grantAgent, "/")
		h.PID, _ = strconv.Atoi(pid)
		n, _ := strconv.ParseUint(uid, 10, 32)
		h.UID = uint32(n)
	}
	return h
}

// ticket decodes the hash.
func (s *snapshot) ticket(id TicketID) (Ticket, error) {
	f := s.fields
	t := Ticket{
		ID: id, Flow: f["flow"], State: State(f["state"]), Token: number(f["token"]), Run: number(f["run"]),
		Revision: number(f["revision"]), Summary: f["summary"], CreatedAt: millis(f["created_at"]),
		UpdatedAt: millis(f["updated_at"]), Intent: f["intent"], Owner: f["owner"],
		Steps: map[string]Step{}, Delivery: map[string]Delivery{},
	}
	for name, value := range f {
		kind, rest, ok := strings.Cut(name, ".")
		switch {
		case ok && kind == "steps":
			step, err := decodeStep(value)
			if err != nil {
				return Ticket{}, fmt.Errorf("cannot read step %s of ticket %s: %w", rest, id, err)
			}
			t.Steps[rest] = step
		case ok && kind == "delivery":
			d := Delivery{
				Status: outbox.Status(value), Attempts: number(f["attempts."+rest]), Host: f["host."+rest], Error: f["error."+rest],
			}
			if at := f["at."+rest]; at != "" {
				d.At = millis(at)
			}
			t.Delivery[rest] = d
		}
	}
	if v := f["failure"]; v != "" {
		t.Failure = &Failure{}
		if err := json.Unmarshal([]byte(v), t.Failure); err != nil {
			return Ticket{}, fmt.Errorf("cannot read the failure of ticket %s: %w", id, err)
		}
		t.Failure.Count = number(f["failure_count"])
	}
	if v := f["notification"]; v != "" {
		t.Notification = &Notification{}
		if err := json.Unmarshal([]byte(v), t.Notification); err != nil {
			return Ticket{}, fmt.Errorf("cannot read the notification of ticket %s: %w", id, err)
		}
	}
	if s.lock != "" && s.lock == s.grantNonce && s.grantTicket == id.String() {
		h := s.holder()
		t.Holder = &h
	}
	return t, nil
}

// whyFailed names what a FAILED ticket failed at: a step, or the channels that refused. Of any other it is empty.
func (t *Ticket) whyFailed() string {
	switch {
	case t.State != Failed:
		return ""
	case t.Failure != nil:
		return t.Failure.Step + ": " + t.Failure.Error
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(t.Delivery)) {
		if d := t.Delivery[name]; d.Status == outbox.Dead {
			said = append(said, name+": "+d.Error)
		}
	}
	return strings.Join(said, "; ")
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func millis(s string) time.Time { return time.UnixMilli(number(s)).UTC() }

// flag is how the scripts have a boolean.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// encode is JSON as it stands in Redis: without HTML escapes, so that facts stay as they are.
func encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
