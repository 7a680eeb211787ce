// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/picketd/picket/audit"
)

var (
	stepScript    = newScript("step", "common", "claim")
	failureScript = newScript("failure", "common", "claim")
	finishScript  = newScript("finish", "common", "claim")
	refuseScript  = newScript("refuse", "common")
)

// Refusal is what is recorded of a claim's write when it is refused; its JSON is what stands in Redis.
type Refusal struct {
	Event string `json:"event"`
	Step  string `json:"step,omitempty"`
	To    State  `json:"to,omitempty"`
	Token int64  `json:"token"`
	Host  string `json:"host"`
	Agent string `json:"agent"`
}

// ClaimWrite is a fenced write of a claim: what is recorded when it is refused, and how it is run. Each may answer Stale, and Gone for a
// copy that comes late.
type ClaimWrite struct {
	Refusal
	script script
	more   []any
	field  string // of what it records, if it records something
	record Record
}

// Step records a step's result, once: Replayed, Conflict, Illegal. facts is a JSON object. Errors: facts that are no JSON.
func (s *Store) Step(flow *Flow, token int64, step string, to State, facts json.RawMessage, summary string) (ClaimWrite, error) {
	facts = bytes.TrimSpace(facts)
	if !bytes.HasPrefix(facts, []byte(factsBegin)) || !json.Valid(facts) {
		return ClaimWrite{}, errors.New("facts are not a JSON object")
	}
	from := flow.from(step, to)
	more := []any{step, string(to), factsDigest(to, facts), set(from), set(without(from, to)), summary, flow.risk(step, to, facts), "0"}
	if string(facts) != noFacts {
		more = append(more, []byte(facts))
	}
	record := Record{Step: Step{to, summary, token, s.c.Host, time.Time{}, facts}} // the time is Redis'
	return ClaimWrite{Refusal{Event: "step", Step: step, To: to}, stepScript, more, recordOf + step, record}, nil
}

// AndFinish has the claim end with a step that leads to FINISHED.
func (w ClaimWrite) AndFinish() ClaimWrite {
	w.more[stepFinish] = "1"
	return w
}

// stepFinish is where among the arguments of a step it stands whether the claim ends with it.
const stepFinish = 7

// Fail records that a step failed; a final failure moves the ticket to FAILED: Illegal.
func (s *Store) Fail(flow *Flow, step, why string, final bool) (ClaimWrite, error) {
	record, err := encode(Failure{Step: step, Error: why, Final: final, At: time.Now().Round(time.Millisecond).UTC()})
	w, from := ClaimWrite{Refusal: Refusal{Event: "failure", Step: step}, script: failureScript}, flow.open()
	if final {
		w.Event, w.To, from = "failed", Failed, flow.failable()
	}
	w.more = []any{step, record, flag(final), set(from), why}
	return w, err
}

// Finish moves the ticket to FINISHED and ends the claim; in NOTIFYING it ends the claim only: Illegal.
func (s *Store) Finish(flow *Flow, summary string) ClaimWrite {
	return ClaimWrite{
		Refusal: Refusal{Event: "finished", To: Finished}, script: finishScript, more: []any{set(flow.from(FinishCall, Finished)), summary},
	}
}

// WriteClaim runs a fenced write. known is the ticket as the claim's last write left it, or empty.
func (s *Store) WriteClaim(ctx context.Context, id TicketID, by Writer, w ClaimWrite, known Packed) (Written, error) {
	refused, err := s.refused(by, w)
	if err != nil {
		return Written{}, err
	}
	told := audit.Event{Kind: audit.Kind(w.Event), Token: by.Token, Agent: by.Agent, Step: w.Step, To: string(w.To)}
	written, err := s.writeTicket(ctx, w.script, id, by, refused, told, append([]any{by.Number}, w.more...)...)
	if err == nil && written.isPart() {
		written.Hash, err = s.rest(ctx, id, written.Hash, known)
	}
	if err == nil && written.Code == OK && w.field != "" && written.Hash[w.field] != "" {
		w.record.Step.At = written.Updated()
		written.Recorded = Records{w.field + " " + written.Hash[w.field]: w.record}
	}
	return written, err
}

// rest is all of the ticket that a write has changed a part of: from what was known, or, if others wrote too, as it is read.
func (s *Store) rest(ctx context.Context, id TicketID, changed Hash, known Packed) (Hash, error) {
	h := known.with(changed)
	if h == nil {
		snap, err := s.Read(ctx, id)
		if err != nil {
			return nil, err
		}
		h = snap.Hash
	}
	s.stood(id, h.stand())
	return h, nil
}

// Refuse records a claim's write that the daemon refuses by itself, like one that Redis refused.
func (s *Store) Refuse(ctx context.Context, id TicketID, by Writer, w ClaimWrite, why string) error {
	refused, err := s.refused(by, w)
	if err == nil {
		_, err = s.run(ctx, refuseScript, id, by, refused, why)
	}
	return err
}

func (s *Store) refused(by Writer, w ClaimWrite) (string, error) {
	w.Token, w.Host, w.Agent = by.Token, s.c.Host, by.Agent
	return encode(w.Refusal)
}
