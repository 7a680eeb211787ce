// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/outbox"
)

// NotificationRequest asks for people to be told.
type NotificationRequest struct {
	Title    string
	Text     string
	Severity string
	Facts    json.RawMessage // nil or a valid JSON object
	Channels []string        // empty: those that match severity and flow
	Wait     time.Duration   // for the ticket to leave NOTIFYING
}

// Severities from the mildest to the worst.
var Severities = []string{"info", "low", "medium", "high", "critical"}

// Notify accepts a notification, in the stages of outbox/doc.go: when it returns without an error, the intent is committed in
// this host's outbox, or the ticket has left NOTIFYING. Also ErrUnknownChannel, ErrContentConflict, ErrOutboxUnavailable.
func (e *Engine) Notify(ctx context.Context, id string, uid uint32, r NotificationRequest) (WriteResult, error) {
	c, err := e.claims.get(id, uid)
	if err != nil {
		return WriteResult{}, err
	}
	if err := e.Identity(); err != nil {
		return WriteResult{}, err
	}
	channels, err := e.channels(c.flow.Name, r)
	if err != nil {
		return WriteResult{}, err
	}
	if r.Facts == nil {
		r.Facts = json.RawMessage("{}")
	}
	if err := e.weigh(ctx, int64(len(r.Facts)+len(r.Text))*int64(1+len(channels))); err != nil {
		return WriteResult{}, err
	}
	if err := e.weighClaim(ctx, c); err != nil {
		return WriteResult{}, err
	}
	defer e.calling(c)()
	result, err := e.accept(ctx, c, r, channels)
	if err != nil || r.Wait == 0 || result.Ticket.State != Notifying {
		return result, err
	}
	if c.size.Load() > light { // it is not kept for as long as the call waits
		result.Ticket = Ticket{}
	}
	if err := e.settled(ctx, c.ticket, r.Wait); err != nil {
		return WriteResult{}, err
	}
	now, err := e.Ticket(ctx, c.ticket)
	if err == nil {
		result.Ticket = now
	} else if result.Ticket.State == Notifying {
		err = nil // accepted it is; what became of it is for a later read
	}
	result.Next = c.flow.Next(result.Ticket.State)
	return result, err
}

// accept runs stages 1 to 4. What is staged and got no definite answer is left for the settle loop: the write may land late.
func (e *Engine) accept(ctx context.Context, c *claim, r NotificationRequest, channels []Channel) (WriteResult, error) {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	waiting, stop := e.untilDrain(ctx)
	leave, err := e.calls.enter(waiting, c.ticket.String())
	stop()
	if err != nil {
		return WriteResult{}, err
	}
	defer leave()
	e.settleTicket(ctx, c.ticket)
	snap, err := e.look(ctx, c.ticket)
	if err != nil {
		return WriteResult{}, err
	}
	in, content, err := e.intent(c, r, channels, max(number(snap.fields["run"]), 1))
	if err != nil {
		return WriteResult{}, err
	}
	if err := e.box.Stage(in); err != nil {
		return WriteResult{}, fmt.Errorf("%w: %w", ErrOutboxUnavailable, err)
	}
	if err := e.hint(ctx, in.Ticket); err != nil {
		e.discard(in.Ref)
		return WriteResult{}, err
	}
	args := []any{in.ID, e.box.ID(), content, requestDigest(r), c.flow.from(notifyCall, Notifying).String(), len(channels)}
	for _, ch := range channels {
		args = append(args, ch.Name, ch.Type, flag(ch.AtMostOnce), in.Channels[ch.Name].Body)
	}
	short := Notification{r.Title, r.Text, r.Severity, json.RawMessage("{}"), names(channels), in.At}
	listed, err := brief(r.Facts, short)
	if err != nil {
		e.discard(in.Ref)
		return WriteResult{}, err
	}
	args = append(args, listed)
	asked := e.now()
	reply, err := e.write(ctx, c, notifyScript, refusal{Event: "notifying", To: Notifying}, args...)
	if errors.Is(err, ErrStoreUnavailable) {
		return WriteResult{}, err
	}
	if err != nil {
		e.discard(in.Ref)
		return WriteResult{}, err
	}
	result, err := e.written(c, reply, ErrContentConflict)
	switch {
	case err != nil:
		e.discard(in.Ref)
		return WriteResult{}, err
	case reply.code == codeOK:
		err = e.box.Commit(in.Ref)
		e.current.confirm(in.ID, asked)
	default:
		e.discard(in.Ref)
		s := snapshot{fields: reply.pairs(0)}
		err = e.adopt(c.ticket, &s)
	}
	if err != nil {
		return WriteResult{}, fmt.Errorf("%w: %w", ErrOutboxUnavailable, err)
	}
	return result, nil
}

// intent is what is staged: the content and each channel's body, frozen.
func (e *Engine) intent(c *claim, r NotificationRequest, channels []Channel, run int64) (outbox.Intent, string, error) {
	n := Notification{r.Title, r.Text, r.Severity, r.Facts, []string{}, time.Now().Truncate(time.Millisecond).UTC()}
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: c.ticket.String(), ID: rand.Text()}, Asset: string(c.ticket.Asset), Task: c.ticket.Task,
		Run: run, Key: c.ticket.Key(run), Origin: outbox.Staged, At: n.At, Boot: e.boot, Clock: e.now(), Severity: r.Severity,
		User: strconv.FormatUint(uint64(c.account), 10), Token: c.token, Nonce: c.nonce, Agent: c.agent, Channels: map[string]outbox.Delivery{},
	}
	for _, ch := range channels {
		body, err := e.Render(ch.Name, Message{
			Key: in.Key, Ticket: in.Ticket, Asset: in.Asset, Task: in.Task, Run: run,
			Title: r.Title, Text: r.Text, Severity: r.Severity, Facts: r.Facts, At: n.At,
		})
		if err != nil {
			return outbox.Intent{}, "", fmt.Errorf("cannot render for channel %s: %w", ch.Name, err)
		}
		in.Channels[ch.Name] = outbox.Delivery{Type: ch.Type, AtMostOnce: ch.AtMostOnce, Body: body, Status: outbox.Pending, Due: n.At}
		n.Channels = append(n.Channels, ch.Name)
	}
	content, err := encode(n)
	in.Content = []byte(content)
	return in, content, err
}

// channels are those that the request names, or those that match its severity and the flow.
func (e *Engine) channels(flow string, r NotificationRequest) ([]Channel, error) {
	var chosen []Channel
	for _, ch := range e.Channels {
		named := slices.Contains(r.Channels, ch.Name)
		matches := slices.Index(Severities, r.Severity) >= slices.Index(Severities, ch.MinSeverity) &&
			(len(ch.Flows) == 0 || slices.Contains(ch.Flows, flow))
		if named || len(r.Channels) == 0 && matches {
			chosen = append(chosen, ch)
		}
	}
	for _, name := range r.Channels {
		if !slices.ContainsFunc(chosen, func(ch Channel) bool { return ch.Name == name }) {
			return nil, fmt.Errorf("%w: the configured ones are: %s", ErrUnknownChannel, e.channelNames())
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: none matches severity %s and flow %s; the configured ones are: %s", ErrUnknownChannel,
			r.Severity, flow, e.channelNames())
	}
	return chosen, nil
}

func (e *Engine) channelNames() string {
	if len(e.Channels) == 0 {
		return "none"
	}
	return strings.Join(names(e.Channels), ", ")
}

func names(channels []Channel) []string {
	all := []string{}
	for _, ch := range channels {
		all = append(all, ch.Name)
	}
	return all
}

// requestDigest tells whether a later call asks for the same content.
func requestDigest(r NotificationRequest) string {
	channels := slices.Compact(slices.Sorted(slices.Values(r.Channels)))
	h := sha256.New()
	for _, s := range append([]string{r.Title, r.Text, r.Severity, factsDigest("", r.Facts)}, channels...) {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hint puts the ticket among those that this daemon answers for. It comes before the NOTIFYING write, so that another daemon
// finds the ticket if this one dies for good right after it.
func (e *Engine) hint(ctx context.Context, ticket string) error {
	key := e.keys.undelivered(e.box.ID())
	if err := e.redis.ZAdd(ctx, key, redis.Z{Score: float64(time.Now().UnixMilli()), Member: ticket}).Err(); err != nil {
		return unavailable(err)
	}
	return nil
}

func (e *Engine) discard(ref outbox.Ref) {
	if err := e.box.Discard(ref); err != nil {
		e.log.Warn("cannot discard a staged intent; it is settled later", "ticket", ref.Ticket, "error", err)
	}
}

// adopt takes the ticket's content into the own outbox, if it is still to be sent, so that a 202 is true here too.
func (e *Engine) adopt(id TicketID, s *snapshot) error {
	f := s.fields
	if State(f["state"]) != Notifying {
		return nil
	}
	at, _ := strconv.ParseInt(f["updated_at"], 10, 64)
	run := max(number(f["run"]), 1)
	in := outbox.Intent{
		Ref: outbox.Ref{Ticket: id.String(), ID: f["intent"]}, Asset: string(id.Asset), Task: id.Task, Run: run, Key: id.Key(run),
		Origin: outbox.Adopted, At: time.UnixMilli(at).UTC(), Severity: severityOf(f["notification"]), Content: []byte(f["notification"]),
		Channels: map[string]outbox.Delivery{},
	}
	if all := strings.Fields(f["intents"]); len(all) > 1 && all[len(all)-1] == in.ID {
		in.After = all[len(all)-2]
	}
	for _, ch := range e.Channels {
		status := outbox.Status(f["delivery."+ch.Name])
		if status == "" || status.Settled() || f["type."+ch.Name] != ch.Type {
			continue
		}
		in.Channels[ch.Name] = outbox.Delivery{
			Type: ch.Type, AtMostOnce: s.once(ch), Body: []byte(f["body."+ch.Name]), Status: outbox.Pending, Due: time.Now(),
		}
	}
	if len(in.Channels) == 0 {
		return nil
	}
	return e.box.Adopt(in)
}

// severityOf is that of a notification as it stands on the ticket.
func severityOf(content string) string {
	var n struct{ Severity string }
	_ = json.Unmarshal([]byte(content), &n) // without one it goes last
	return n.Severity
}

// The pauses between two looks of a call that waits for a delivery; past so many calls that wait, they grow with their number.
const (
	settledFirst = 5 * time.Millisecond
	settledMost  = 200 * time.Millisecond
	settledCalls = 64
)

// settled waits for the ticket to leave NOTIFYING, at most wait. That Redis does not answer ends the wait: accepted it is.
func (e *Engine) settled(ctx context.Context, id TicketID, wait time.Duration) error {
	again := e.Rest(ctx)
	e.waits.Add(1)
	defer e.waits.Add(-1)
	until := time.Now().Add(wait)
	for pause := settledFirst; ; pause = min(2*pause, settledMost*time.Duration(1+e.waits.Load()/settledCalls)) {
		left := time.Until(until)
		if left <= 0 {
			return again()
		}
		select {
		case <-time.After(min(jitter(pause), left)):
		case <-e.draining.Done():
			return again()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s, err := e.lookWithin(ctx, id)
		if err != nil || State(s.fields["state"]) != Notifying {
			return again()
		}
	}
}
