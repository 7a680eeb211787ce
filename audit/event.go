// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"context"
	"sync/atomic"
)

// Event is what a record tells. It never holds facts, texts, summaries or an agent's error: those are the ticket's.
type Event struct {
	Kind    Kind   `json:"event" journal:"PICKET_EVENT"`
	Asset   string `json:"asset,omitempty" journal:"PICKET_ASSET"`
	Task    string `json:"-"`                                      // empty for a call that is about an asset
	Token   int64  `json:"token,omitempty" journal:"PICKET_TOKEN"` // of the claim; 0: none
	From    string `json:"from,omitempty" journal:"PICKET_FROM"`   // the ticket's state; empty where it is not known
	To      string `json:"to,omitempty" journal:"PICKET_TO"`       // what it became, or for a refused write should have become
	Step    string `json:"step,omitempty" journal:"PICKET_STEP"`
	Channel string `json:"channel,omitempty" journal:"PICKET_CHANNEL"`
	Call    string `json:"call,omitempty" journal:"PICKET_CALL"` // the API's name for the call, empty for what no call did
	Code    string `json:"code,omitempty" journal:"PICKET_CODE"` // of a refusal
	Reason  string `json:"reason,omitempty" journal:"PICKET_REASON"`
	Host    string `json:"host,omitempty" journal:"PICKET_HOST"` // a label; empty: this one
	Agent   string `json:"-"`                                    // pid/uid of who made the call, or of the claim that was lost
}

// Caller is who makes a call, as the audit tells it. It sees to it that a call leaves one record.
type Caller struct {
	agent, call string
	recorded    atomic.Bool
}

// NewCaller names the peer, as pid/uid, and the call by the API's name for it.
func NewCaller(agent, call string) *Caller { return &Caller{agent: agent, call: call} }

type callerKey struct{}

// Context is for the call: what it changes is recorded as this caller's.
func (c *Caller) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is who makes the call that a context is of; nil when it is of none.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Sign makes an event the call's record. A caller that is nil signs nothing.
func (c *Caller) Sign(e *Event) {
	if c != nil {
		e.Agent, e.Call = c.agent, c.call
		c.recorded.Store(true)
	}
}

// Recorded reports whether the audit has the call's record.
func (c *Caller) Recorded() bool { return c.recorded.Load() }
