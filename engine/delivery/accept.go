// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// Accept accepts a notification on channels, in stages 1 to 4 of outbox/doc.go. When it answers OK or Replayed, the intent is committed
// in this host's outbox, or the ticket has left NOTIFYING. What is staged and got no definite answer is left for stagedLoop:
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
	if err := c.followTicket(ctx, from.Ticket); err != nil {
		return store.Written{}, err
	}
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
		s, readErr := c.read(ctx, from.Ticket) // an answer has no content
		if readErr != nil {
			return w, readErr
		}
		err = c.Adopt(from.Ticket, s.Hash)
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
