// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Request asks for people to be told.
type Request struct {
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil or a valid JSON object
	Channels []string        // empty: those that match severity and flow
	Wait     time.Duration   // for the ticket to leave NOTIFYING
}

// Claim is the one from which people are told.
type Claim struct {
	Ticket  store.TicketID
	Flow    *store.Flow
	Account uint32 // against whose limits it counts
	Token   int64
	Nonce   string
	Agent   string
	Write   func(context.Context, store.ClaimWrite) (store.Written, error) // fenced
}

// Accept accepts a notification on channels, in stages 1 to 4 of outbox/doc.go. When it answers OK or Replayed, the intent is committed
// in this host's outbox, or the ticket has left NOTIFYING. What is staged and got no definite answer is left for the loop that resolves:
// the write may land late. Errors: those of Claim.Write, outbox.ErrUnavailable.
func (c *Courier) Accept(ctx context.Context, from Claim, r Request, channels []Channel) (store.Written, error) {
	ctx, cancel := c.config.Bounded(ctx)
	defer cancel()
	waiting, stop := c.config.UntilDrain(ctx)
	leave, err := c.calls.enter(waiting, from.Ticket.String())
	stop()
	if err != nil {
		return store.Written{}, err
	}
	defer leave()
	c.resolveTicket(ctx, from.Ticket)
	seen, err := c.store.Peek(ctx, from.Ticket)
	if err != nil {
		return store.Written{}, err
	}
	content := store.Notification{
		Title: r.Title, Text: r.Text, Severity: r.Severity, Facts: r.Facts, Channels: names(channels), At: time.Now().Truncate(time.Millisecond).UTC(),
	}
	in, frozen, err := c.freeze(from, content, channels, seen.Run())
	if err != nil {
		return store.Written{}, err
	}
	digest := store.NotificationDigest(r.Title, r.Text, r.Severity, r.Facts, r.Channels)
	write, err := c.store.Notify(from.Flow, in.ID, c.box.ID(), digest, content, frozen)
	if err != nil {
		return store.Written{}, err
	}
	if err := c.stage(ctx, in); err != nil {
		return store.Written{}, err
	}
	asked := c.config.Now()
	w, err := from.Write(ctx, write)
	if errors.Is(err, store.ErrUnavailable) {
		return w, err
	}
	switch {
	case err == nil && w.Code == store.OK:
		if err = c.box.Commit(in.Ref); err == nil {
			c.current.confirm(in.ID, asked)
		}
	case err == nil && w.Code == store.Replayed:
		c.drop(in.Ref)
		err = c.Adopt(from.Ticket, w.Hash)
	default:
		c.drop(in.Ref)
		return w, err
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	return w, err
}

// freeze is what is staged: the content and each channel's body.
func (c *Courier) freeze(from Claim, n store.Notification, channels []Channel, run int64) (outbox.Intent, []store.Frozen, error) {
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: from.Ticket.String(), ID: rand.Text()}, Asset: string(from.Ticket.Asset), Task: from.Ticket.Task,
		Run: run, Key: from.Ticket.Key(run), Origin: outbox.Staged, At: n.At, Boot: c.config.Boot, Clock: c.config.Now(), Severity: n.Severity,
		User: strconv.FormatUint(uint64(from.Account), 10), Token: from.Token, Nonce: from.Nonce, Agent: from.Agent, Channels: map[string]outbox.Delivery{},
	}
	var frozen []store.Frozen
	for _, ch := range channels {
		body, err := c.config.Render(ch.Name, Message{
			Key: in.Key, Ticket: in.Ticket, Asset: in.Asset, Task: in.Task, Run: run,
			Title: n.Title, Text: n.Text, Severity: n.Severity, Facts: n.Facts, At: n.At,
		})
		if err != nil {
			return in, nil, fmt.Errorf("cannot render for channel %s: %w", ch.Name, err)
		}
		in.Channels[ch.Name] = outbox.Delivery{Type: ch.Type, AtMostOnce: ch.AtMostOnce, Body: body, Status: outbox.Pending, Due: n.At}
		frozen = append(frozen, store.Frozen{Name: ch.Name, Type: ch.Type, Once: ch.AtMostOnce, Body: body})
	}
	content, err := plain.JSON(n)
	in.Content = content
	return in, frozen, err
}

// stage writes an intent that is not sendable, and then the hint. That comes before the NOTIFYING write, so that another daemon finds
// the ticket if this one dies for good right after it.
func (c *Courier) stage(ctx context.Context, in outbox.Intent) error {
	if err := c.box.Stage(in); err != nil {
		return fmt.Errorf("%w: %w", outbox.ErrUnavailable, err)
	}
	err := c.store.AddHint(ctx, c.box.ID(), in.Ticket)
	if err != nil {
		c.drop(in.Ref)
	}
	return err
}

// drop is for a staged intent that came to nothing.
func (c *Courier) drop(ref outbox.Ref) {
	if err := c.box.Discard(ref); err != nil {
		c.log.Warn("cannot drop a staged intent; it is tried again", "ticket", ref.Ticket, "error", err)
	}
}

// Adopt takes the ticket's content into the own outbox, if it is still to be sent, so that a 202 is true here too.
func (c *Courier) Adopt(id store.TicketID, h store.Hash) error {
	if h.State() != store.Notifying {
		return nil
	}
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: id.String(), ID: h.Intent()}, Asset: string(id.Asset), Task: id.Task, Run: h.Run(), Key: id.Key(h.Run()),
		Origin: outbox.Adopted, At: h.Updated(), Severity: h.Severity(), Content: []byte(h.Content()), After: h.Before(),
		Channels: map[string]outbox.Delivery{},
	}
	for _, ch := range c.config.Channels {
		if status := h.Status(ch.Name); status == "" || status.Settled() || h.Type(ch.Name) != ch.Type {
			continue
		}
		in.Channels[ch.Name] = outbox.Delivery{
			Type: ch.Type, AtMostOnce: h.Once(ch.Name, ch.AtMostOnce), Body: h.Body(ch.Name), Status: outbox.Pending, Due: time.Now(),
		}
	}
	if len(in.Channels) == 0 {
		return nil
	}
	return c.box.Adopt(in)
}
