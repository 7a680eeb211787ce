// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// problem makes an error answer.
func problem(code client.Code, detail string) *client.Problem {
	status := code.Status()
	return &client.Problem{Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// invalid is a problem with one place.
func invalid(at, message string) *client.Problem {
	var wrong violations
	wrong.add(at, message)
	return wrong.problem()
}

// violations collects what is wrong with a request, place by place.
type violations []violation

type violation struct {
	code client.Code
	client.FieldError
}

func (v *violations) add(at, message string) { v.addCode(client.Invalid, at, message) }

func (v *violations) addCode(code client.Code, at, message string) {
	*v = append(*v, violation{code, client.FieldError{Location: at, Message: message}})
}

// mostViolations is how many an answer lists, so that it does not grow with what was sent.
const mostViolations = 20

// problem has the code of the violations if they share one, and INVALID otherwise.
func (v violations) problem() *client.Problem {
	code := v[0].code
	var errs []client.FieldError
	for i, one := range v {
		if one.code != code {
			code = client.Invalid
		}
		if i < mostViolations {
			errs = append(errs, one.FieldError)
		}
	}
	p := problem(code, fmt.Sprintf("the request is not valid: %s %s", errs[0].Location, errs[0].Message))
	if n := len(v) - 1; n > 0 {
		p.Detail += fmt.Sprintf(", and %d more", n)
	}
	p.Errors = errs
	return p
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// location names a place in a request. A name that is not short and plain is not repeated.
func location(in, name string) string {
	if plainName.MatchString(name) {
		return in + "." + name
	}
	return in
}

// situations are the engine's sentinels, what they are called on the wire, and what would be right. The engine's own words
// are for logs: they may name a value of the request.
var situations = []struct {
	err    error
	code   client.Code
	detail string
}{
	{store.ErrInvalidAsset, client.InvalidAsset, "the asset " + assetRule},
	{store.ErrInvalidTask, client.InvalidTask, "the task " + taskRule},
	{store.ErrUnknownFlow, client.UnknownFlow, "no flow has this name; leave flow out for asset-inference"},
	{store.ErrUnknownStep, client.UnknownStep, "the ticket's flow has no step of this name"},
	{delivery.ErrUnknownChannel, client.UnknownChannel, "no configured channel matches; the status (GET /v1/status, picket status) lists them"},
	{engine.ErrForbidden, client.Forbidden, "the claim, or the process that pid names, belongs to another user"},
	{engine.ErrClaimNotFound, client.ClaimNotFound, "this daemon knows no such claim; ended ones are remembered for 10 minutes"},
	{store.ErrTicketNotFound, client.TicketNotFound, "there is no such ticket; a claim on its asset and task makes it"},
	{store.ErrTicketDamaged, client.TicketDamaged, "Redis has lost some of what the ticket recorded, so nobody may go on from it; GET it to see what, and reopen it (picket ticket reopen) to begin anew"},
	{store.ErrTaskNotFound, client.TaskNotFound, "there is no such task; a claim for it makes it"},
	{engine.ErrStaleToken, client.StaleToken, "a newer claim holds the asset; this write is refused, and nothing was changed"},
	{engine.ErrStepConflict, client.StepConflict, "the step is recorded with another result, which stands; GET the ticket to see it"},
	{engine.ErrContentConflict, client.ContentConflict, "a notification is accepted with another content, which stands; GET the ticket to see it"},
	{engine.ErrFlowMismatch, client.FlowMismatch, "the ticket follows another flow; leave flow out, or take another task"},
	{engine.ErrTooManyClaims, client.TooManyClaims, "this user holds as many claims as max_per_uid allows; release some first"},
	{store.ErrReplicasMissing, client.ReplicasMissing, "too few replicas of Redis have what was written (redis.wait_replicas), so nothing may be relied on; try again"},
	{store.ErrUnavailable, client.StoreUnavailable, "Redis is not reachable or cannot be used; try again later"},
	{outbox.ErrUnavailable, client.OutboxUnavailable, "this host's outbox cannot be written, so no notification is accepted; see /readyz?verbose"},
	{engine.ErrHostNotFound, client.HostNotFound, "Redis knows no such host; GET /v1/hosts, or picket host ls, lists them with their ids"},
	{engine.ErrHostAlive, client.HostAlive, "the host signed less than 35 s ago, or this daemon has watched the others for less than 30 s without a break and cannot tell: stop the host's daemon first, and try again then"},
	{engine.ErrDraining, client.Draining, "the daemon is stopping; call again on a new connection"},
}

// problemOf is the one place where an error becomes an answer. in is where a field of the request stands: body or query.
// An error that it does not know is INTERNAL, and not repeated.
func problemOf(err error, in string) *client.Problem {
	var (
		ready      *client.Problem
		held       *engine.HeldError
		bad        *engine.InvalidError
		lost       *engine.LostError
		transition *store.TransitionError
		store      *store.UnavailableError
		full       *outbox.FullError
		none       *delivery.ChannelError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &held):
		return heldProblem(held.Holder)
	case errors.As(err, &bad):
		return invalid(location(in, bad.Field), bad.Message)
	case errors.As(err, &lost):
		p := problem(client.ClaimLost, lost.Error())
		p.Reason, p.PID = string(lost.Reason), lost.PID
		return p
	case errors.As(err, &transition):
		return transitionProblem(transition)
	case errors.As(err, &store):
		return problem(client.StoreUnavailable, store.Error()+"; try again later")
	case errors.As(err, &full):
		return problem(client.OutboxUnavailable, "no notification is accepted: "+full.Error())
	case errors.As(err, &none):
		return problem(client.UnknownChannel, none.Error())
	}
	for _, s := range situations {
		if errors.Is(err, s.err) {
			return problem(s.code, s.detail)
		}
	}
	return problem(client.Internal, "the daemon failed at this; its log says why")
}

func heldProblem(h store.Holder) *client.Problem {
	if h == (store.Holder{}) {
		return problem(client.LockHeld, "the asset was held until a moment ago; try again, or give wait")
	}
	p := problem(client.LockHeld, fmt.Sprintf("the asset is held on host %q for another %s unless its lock is renewed; try again, or give wait",
		h.Host, h.Remaining.Round(time.Millisecond)))
	p.Holder = wireHolder(&h)
	return p
}

func transitionProblem(e *store.TransitionError) *client.Problem {
	allowed := make([]string, len(e.Allowed))
	for i, n := range e.Allowed {
		allowed[i] = n.Step
	}
	detail := e.Error()
	if len(allowed) > 0 {
		detail += "; allowed are " + strings.Join(allowed, ", ")
	}
	p := problem(client.IllegalTransition, detail)
	p.State, p.Allowed = string(e.State), wireNext(e.Allowed)
	return p
}

// retryAfter is the header of that name that goes with a problem: whole seconds, or empty.
func retryAfter(p *client.Problem) string {
	switch {
	case p.Code == client.Draining:
		return "0"
	case p.Code == client.TooManyCalls:
		return "1"
	case p.Code != client.LockHeld:
		return ""
	case p.Holder == nil:
		return "1"
	}
	return fmt.Sprint(max(1, (p.Holder.RemainingMS+999)/1000))
}

// callerLeft reports whether an error means that the caller is gone, so that nobody reads an answer.
func callerLeft(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

var errNotAdmin = problem(client.Forbidden, "only root and members of the admin group may do this")

const (
	assetRule  = "must be 1 to 256 bytes of UTF-8, without control or invisible characters, without a space at either end, and not . or .."
	reportRule = "must be 1 to 64 of A-Z a-z 0-9 . _ -"
	taskRule   = "must be 1 to 128 of A-Z a-z 0-9 . _ - and not . or .."
)
