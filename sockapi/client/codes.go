// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is the machine-readable cause in every problem that the daemon answers.
type Code string

// The codes of the socket API. Their HTTP statuses are in Status.
const (
	BadRequest        Code = "BAD_REQUEST"
	Invalid           Code = "INVALID"
	InvalidAsset      Code = "INVALID_ASSET"
	InvalidTask       Code = "INVALID_TASK"
	UnknownFlow       Code = "UNKNOWN_FLOW"
	UnknownStep       Code = "UNKNOWN_STEP"
	UnknownChannel    Code = "UNKNOWN_CHANNEL"
	Forbidden         Code = "FORBIDDEN"
	NotFound          Code = "NOT_FOUND"
	MethodNotAllowed  Code = "METHOD_NOT_ALLOWED"
	TicketNotFound    Code = "TICKET_NOT_FOUND"
	TicketDamaged     Code = "TICKET_DAMAGED"
	TaskNotFound      Code = "TASK_NOT_FOUND"
	ClaimNotFound     Code = "CLAIM_NOT_FOUND"
	IntentNotFound    Code = "INTENT_NOT_FOUND"
	HostNotFound      Code = "HOST_NOT_FOUND"
	HostAlive         Code = "HOST_ALIVE"
	StaleToken        Code = "STALE_TOKEN"
	ClaimLost         Code = "CLAIM_LOST"
	IllegalTransition Code = "ILLEGAL_TRANSITION"
	StepConflict      Code = "STEP_CONFLICT"
	ContentConflict   Code = "CONTENT_CONFLICT"
	FlowMismatch      Code = "FLOW_MISMATCH"
	BodyTooLarge      Code = "BODY_TOO_LARGE"
	LockHeld          Code = "LOCK_HELD"
	TooManyClaims     Code = "TOO_MANY_CLAIMS"
	TooManyCalls      Code = "TOO_MANY_CALLS"
	Internal          Code = "INTERNAL"
	StoreUnavailable  Code = "STORE_UNAVAILABLE"
	ReplicasMissing   Code = "REPLICAS_MISSING"
	OutboxUnavailable Code = "OUTBOX_UNAVAILABLE"
	Draining          Code = "DRAINING"
)

// Status returns the HTTP status that goes with c, or 500 for a code that is not known.
func (c Code) Status() int {
	switch c {
	case BadRequest:
		return http.StatusBadRequest
	case Invalid, InvalidAsset, InvalidTask, UnknownFlow, UnknownStep, UnknownChannel:
		return http.StatusUnprocessableEntity
	case Forbidden:
		return http.StatusForbidden
	case NotFound, TicketNotFound, TaskNotFound, ClaimNotFound, IntentNotFound, HostNotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case StaleToken, ClaimLost, IllegalTransition, StepConflict, ContentConflict, FlowMismatch, TicketDamaged, HostAlive:
		return http.StatusConflict
	case BodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case LockHeld:
		return http.StatusLocked
	case TooManyClaims, TooManyCalls:
		return http.StatusTooManyRequests
	case StoreUnavailable, ReplicasMissing, OutboxUnavailable, Draining:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Problem is an error answer of the daemon (RFC 9457, application/problem+json). It never repeats a value of the request.
type Problem struct {
	Type   string `json:"type,omitempty" doc:"Always about:blank; the code tells the kinds apart."`
	Title  string `json:"title" doc:"The phrase of the HTTP status."`
	Status int    `json:"status" doc:"The HTTP status."`
	Detail string `json:"detail" doc:"What was wrong, and what would be right."`
	Code   Code   `json:"code" doc:"The machine-readable cause."`

	Errors  []FieldError `json:"errors,omitempty" doc:"With INVALID: what is wrong, place by place."`
	Reason  string       `json:"reason,omitempty" doc:"With CLAIM_LOST: why the claim ended."`
	PID     int          `json:"pid,omitempty" doc:"With CLAIM_LOST for process_exit: the process that ended."`
	State   string       `json:"state,omitempty" doc:"With ILLEGAL_TRANSITION: the state in which the ticket is."`
	Allowed []Next       `json:"allowed,omitempty" doc:"With ILLEGAL_TRANSITION: what is allowed there."`
	Holder  *Holder      `json:"holder,omitempty" doc:"With LOCK_HELD: who holds the asset."`

	// RetryAfter is the header of that name, in whole seconds: with LOCK_HELD when the lock ends unless it is renewed, with TOO_MANY_CALLS when to
	// try again.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is one thing that is wrong with a request.
type FieldError struct {
	Location string `json:"location" doc:"Where: body.asset, query.wait, path.task."`
	Message  string `json:"message" doc:"What is wrong there, and what would be right."`
}

// Refuses reports whether err is a Problem about this one place of the request, such as body.pid, and about no other.
func Refuses(err error, location string) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && len(p.Errors) == 1 && p.Errors[0].Location == location
}

// Error makes a Problem an error: its sentence, what is wrong at the places that the sentence does not name, what is allowed
// with the states that it leads to, and its code.
func (p *Problem) Error() string {
	var more []string
	for _, e := range p.Errors {
		if one := e.Location + " " + e.Message; !strings.Contains(p.Detail, one) {
			more = append(more, one)
		}
	}
	text := strings.Join(append([]string{p.Detail}, more...), "; ")
	if len(p.Allowed) > 0 {
		text, _, _ = strings.Cut(text, "; allowed are ") // the same without the states
		text += "; allowed: " + allowed(p.Allowed)
	}
	return fmt.Sprintf("%s (%s)", text, p.Code)
}

func allowed(next []Next) string {
	all := make([]string, len(next))
	for i, n := range next {
		all[i] = n.Step
		if len(n.States) > 0 {
			all[i] += " (" + strings.Join(n.States, ", ") + ")"
		}
	}
	return strings.Join(all, ", ")
}
