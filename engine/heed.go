// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/outbox"
)

// What an administrator decides on another host, and a retry there, becomes a fact in this outbox by asking the tickets of what it has
// to send: every heedEvery those that are due within heedAhead, and as many of the others, in turn. Without Redis only that is sent
// whose ticket named it as this daemon's at most currentFor before.
const (
	heedEvery  = 2 * time.Second
	heedAhead  = 15 * time.Second
	heedMost   = 500 // of each kind: with more than that to send, a decision takes as many more rounds to come here
	heedPage   = 100 // tickets in one question
	currentFor = 5 * time.Second
	doubtedFor = 10 * time.Minute // since the last round that asked about it
)

// current is when the tickets of intents were last asked, on CLOCK_BOOTTIME, and named them as this daemon's.
type current struct {
	mu sync.Mutex
	at map[string]time.Duration

	doubts map[string]time.Duration // likewise, of which the ticket had an attempt on an at_most_once channel that this outbox has not begun
}

func (c *current) confirm(intent string, asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]time.Duration{}
	}
	c.at[intent] = max(c.at[intent], asked)
}

// since reports whether an intent was confirmed at that time or later.
func (c *current) since(intent string, at time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	confirmed, ok := c.at[intent]
	return ok && confirmed >= at
}

// doubt notes whether another daemon may have begun an intent. A ticket that is lost says nothing, and changes nothing: named is false.
func (c *current) doubt(intent string, named, begun bool, asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, was := c.doubts[intent]
	switch {
	case named && begun || !named && was:
		if c.doubts == nil {
			c.doubts = map[string]time.Duration{}
		}
		c.doubts[intent] = asked
	case named:
		delete(c.doubts, intent)
	}
}

func (c *current) doubted(intent string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.doubts[intent]
	return is
}

// forget drops what is from before that time, and doubts somewhat later.
func (c *current) forget(before time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, at := range c.doubts {
		if at < before-doubtedFor {
			delete(c.doubts, id)
		}
	}
	for id, at := range c.at {
		if at < before {
			delete(c.at, id)
		}
	}
}

// fresh reports whether an intent may go out though Redis answers nothing since it was asked at that time: its ticket had named it
// just before, in this run of the daemon, or in the one before it, when it was staged.
func (e *Engine) fresh(a outbox.Attempt, asked time.Duration) bool {
	spent := e.now() - asked
	age := time.Since(e.staged(a)) - spent
	return e.current.since(a.ID, asked-currentFor) || age >= 0 && age < currentFor
}

func (e *Engine) heedLoop(ctx context.Context) {
	ticker := time.NewTicker(heedEvery)
	defer ticker.Stop()
	var said said
	for next := []byte(nil); ; {
		var err error
		if next, err = e.heedSome(ctx, next); ctx.Err() == nil {
			said.warn(e.log, "cannot ask all tickets what was decided about them", err)
		}
		e.current.forget(e.now() - currentFor - 2*awayAfter)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// heedSome is one round, from a place among what can be sent on.
func (e *Engine) heedSome(ctx context.Context, from []byte) (next []byte, err error) {
	all, err := e.box.Soon(time.Now().Add(heedAhead), heedMost)
	if err != nil {
		return from, err
	}
	others, next, err := e.box.Sendable(from, heedMost)
	if err != nil {
		return from, err
	}
	for _, in := range others {
		if !slices.ContainsFunc(all, func(soon outbox.Intent) bool { return soon.ID == in.ID }) {
			all = append(all, in)
		}
	}
	for page := range slices.Chunk(all, heedPage) {
		if err := e.heedThese(ctx, page); err != nil {
			return next, err
		}
	}
	return next, nil
}

func (e *Engine) heedThese(ctx context.Context, page []outbox.Intent) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	asked := e.now()
	p := e.redis.Pipeline()
	names, answers := make([][]string, len(page)), make([]*redis.SliceCmd, len(page))
	for i, in := range page {
		names[i] = heeded(in)
		answers[i] = p.HMGet(ctx, e.keys.ticket(TicketID{Asset(in.Asset), in.Task}), names[i]...)
	}
	_, failed := p.Exec(ctx)
	for i, in := range page {
		values, err := answers[i].Result()
		if err != nil {
			continue // of this node; the others have answered
		}
		f := map[string]string{}
		for j, name := range names[i] {
			f[name], _ = values[j].(string)
		}
		if err := e.heed(ctx, in, f, asked); err != nil {
			return err
		}
	}
	if failed != nil {
		return unavailable(failed)
	}
	return nil
}

// heeded names the fields of a ticket that heed looks at, in any order.
func heeded(in outbox.Intent) []string {
	names := []string{"state", "run", "intent", "intents", "owner"}
	for channel := range in.Channels {
		names = append(names, "delivery."+channel)
	}
	return names
}

// heed takes over from a ticket, asked at that time, what was decided about an intent that can be sent. A ticket that is gone, or does
// not know the intent, has lost data and says nothing; if it has another, which this daemon answers for, that is taken into the outbox,
// because this one waits for it.
func (e *Engine) heed(ctx context.Context, in outbox.Intent, f map[string]string, asked time.Duration) error {
	decided := map[string]outbox.Status{}
	reopened := number(f["run"]) > in.Run
	named, begun := f["intent"] == in.ID, false
	for channel, d := range in.Channels {
		is := outbox.Status(f["delivery."+channel])
		begun = begun || d.AtMostOnce && d.Status == outbox.Pending && is != outbox.Pending && is != outbox.Dead && is != outbox.Discarded
	}
	e.current.doubt(in.ID, named, begun, asked)
	switch {
	case f["state"] == "":
		return nil
	case f["intent"] != in.ID && !reopened && !slices.Contains(strings.Fields(f["intents"]), in.ID):
		return e.beside(ctx, in, f)
	case f["intent"] != in.ID && !reopened: // retried elsewhere
		return e.box.Shut(in.Ref)
	case State(f["state"]) == Notifying && f["owner"] == e.box.ID() && in.Origin == outbox.Committed && !reopened:
		e.current.confirm(in.ID, asked)
	}
	for channel, d := range in.Channels {
		switch status := outbox.Status(f["delivery."+channel]); {
		case d.Status.Settled() && !d.Waits():
		case reopened:
			decided[channel] = outbox.Discarded
		case status == outbox.Sent, status == outbox.Dead, status == outbox.Discarded: // parked waits for a person, with its content
			decided[channel] = status
		}
	}
	if len(decided) == 0 {
		return nil
	}
	return e.box.Decide(in.Ref, decided)
}

// beside takes what a ticket tells instead of an intent that it lost into the outbox, if it is for this daemon to deliver.
func (e *Engine) beside(ctx context.Context, in outbox.Intent, f map[string]string) error {
	if State(f["state"]) != Notifying || f["owner"] != e.box.ID() {
		return nil
	}
	other, err := e.box.Get(outbox.Ref{Ticket: in.Ticket, ID: f["intent"]})
	if err == nil && other.Origin != outbox.Closed {
		return nil
	}
	id := TicketID{Asset(in.Asset), in.Task}
	s, err := e.readWithin(ctx, id)
	if err != nil || State(s.fields["state"]) != Notifying || s.fields["owner"] != e.box.ID() {
		return err
	}
	_, err = e.answerFor(ctx, id, &s)
	return err
}

// heedNow is for a decision that was made here: it is a fact in this outbox when the call returns, unless that cannot be written; then
// the next round finds it.
func (e *Engine) heedNow(ctx context.Context, id TicketID, f map[string]string) {
	intents, err := e.box.Ticket(id.String())
	for _, in := range intents {
		if err == nil && (in.Origin == outbox.Committed || in.Origin == outbox.Adopted) {
			err = e.heed(ctx, in, f, e.now())
		}
	}
	if err != nil {
		e.log.Warn("cannot write a decision to the outbox; it is taken from the ticket later", "ticket", id.String(), "error", err)
	}
}
