// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

func postStep(c *call, _ noInput, b client.StepRequest) (answer, error) {
	c.told.Step, c.told.To = b.Step, b.State
	facts, err := compact(b.Facts)
	if err != nil {
		return answer{}, err
	}
	res, err := c.api.Engine.Step(c.request.Context(), c.id, c.peer.Owner(), engine.StepRequest{
		Step: b.Step, State: store.State(b.State), Facts: facts, Summary: b.Summary, Finish: b.Finish,
	})
	return answer{status: http.StatusOK, body: &ticketBody{res.Ticket, &besideStep{wireNext(res.Next), res.Replayed}}}, mayHaveMeant(err, b.Step, b.State)
}

func postFailure(c *call, _ noInput, b client.FailureRequest) (answer, error) {
	if c.told.Step = b.Step; b.Final {
		c.told.To = string(store.Failed)
	}
	res, err := c.api.Engine.Fail(c.request.Context(), c.id, c.peer.Owner(), engine.FailureRequest{
		Step: b.Step, Error: b.Error, Final: b.Final,
	})
	return answer{status: http.StatusOK, body: &ticketBody{res.Ticket, &besideFailure{wireNext(res.Next)}}}, mayHaveMeant(err, b.Step, "")
}

// mayHaveMeant says, with the refusal of a step or a state that there is not, which there are, and which may have been meant.
func mayHaveMeant(err error, step, state string) error {
	var unknown *store.UnknownStepError
	var illegal *store.TransitionError
	switch {
	case errors.As(err, &unknown):
		return problem(client.UnknownStep, fmt.Sprintf("the flow %s has no step of this name: %s; notify and finish are calls of their own",
			unknown.Flow, strict.Suggest(step, unknown.Known)))
	case errors.As(err, &illegal):
		for _, n := range illegal.Allowed {
			if n.Step == step && !slices.Contains(n.States, store.State(state)) && state != "" {
				p := transitionProblem(illegal)
				p.Detail = fmt.Sprintf("in state %s this step does not lead to that state: %s", illegal.State, strict.Suggest(state, stateNames(n.States)))
				return p
			}
		}
	}
	return err
}

func stateNames(states []store.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

func postNotification(c *call, q waitQuery, b client.NotificationRequest) (answer, error) {
	c.told.To = string(store.Notifying)
	facts, err := compact(b.Facts)
	if err != nil {
		return answer{}, err
	}
	res, err := c.api.Engine.Notify(c.request.Context(), c.id, c.peer.Owner(), delivery.Request{
		Title: b.Title, Text: b.Text, Severity: b.Severity, Facts: facts, Channels: b.Channels, Wait: duration(q.Wait),
	})
	status := http.StatusOK
	if res.Ticket.State == store.Notifying {
		status = http.StatusAccepted
	}
	return answer{status: status, body: &ticketBody{res.Ticket, &besideNotification{res.Replayed}}}, err
}

func postFinish(c *call, _ noInput, b client.FinishRequest) (answer, error) {
	c.told.To = string(store.Finished)
	t, err := c.api.Engine.Finish(c.request.Context(), c.id, c.peer.Owner(), b.Summary)
	return ticketAnswer(t, err)
}

// What client.StepResponse, FailureResponse and NotificationResponse have beside the ticket.
type (
	besideStep struct {
		Next     []client.Next `json:"next"`
		Replayed bool          `json:"replayed"`
	}
	besideFailure struct {
		Next []client.Next `json:"next"`
	}
	besideNotification struct {
		Replayed bool `json:"replayed"`
	}
)

// compact takes the white space between facts' tokens away, and leaves every name and value to the letter.
func compact(facts json.RawMessage) (json.RawMessage, error) {
	if facts == nil {
		return nil, nil
	}
	var b bytes.Buffer
	b.Grow(len(facts))
	err := json.Compact(&b, facts)
	return b.Bytes(), err
}
