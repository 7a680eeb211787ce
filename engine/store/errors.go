// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The situations that callers tell apart with errors.Is. What an error says is a sentence for people.
var (
	ErrInvalidAsset   = errors.New("invalid asset")
	ErrInvalidTask    = errors.New("invalid task")
	ErrInvalidCursor  = errors.New("is not one that a listing gave")
	ErrUnknownFlow    = errors.New("unknown flow")
	ErrUnknownStep    = errors.New("unknown step")
	ErrTicketNotFound = errors.New("no such ticket")
	ErrTicketDamaged  = errors.New("the ticket is damaged")
	ErrTaskNotFound   = errors.New("no such task")
	ErrUnavailable    = errors.New("cannot use Redis")
)

// ErrNoAnswer tells an ErrUnavailable without any answer from one that Redis answered.
var ErrNoAnswer = errors.New("no answer")

// UnavailableError says why Redis cannot be used, in words that are fit for anybody. It is an ErrUnavailable.
type UnavailableError struct {
	Why    string
	Silent bool // it answered nothing: also an ErrNoAnswer
	Full   bool // it refused for want of memory, so nothing was written
}

func (e *UnavailableError) Error() string { return ErrUnavailable.Error() + ": " + e.Why }

// Is makes it an ErrUnavailable, and an ErrNoAnswer when it is silent.
func (e *UnavailableError) Is(target error) bool {
	return target == ErrUnavailable || e.Silent && target == ErrNoAnswer
}

// errGivenUp is what a call is answered that waited for Redis when the daemon's time to stop was over.
var errGivenUp = &UnavailableError{Why: "no answer before the daemon stopped", Silent: true}

// Unavailable makes an error of Redis an ErrUnavailable.
func Unavailable(err error) error {
	var answer redis.Error
	switch {
	case errors.Is(err, ErrUnavailable):
		return err
	case !errors.As(err, &answer):
		return &UnavailableError{Why: fmt.Sprintf("no answer: %v", err), Silent: true}
	case strings.Contains(err.Error(), "OOM command not allowed"):
		return &UnavailableError{Why: "it is out of memory and refuses writes: raise maxmemory", Full: true}
	case strings.HasPrefix(err.Error(), "TRYAGAIN"):
		return &UnavailableError{Why: "the asset's slot is moving to another node of the Cluster; try again when it is there (redis-cli --cluster check " +
			"tells of a move that was broken off): " + err.Error()}
	}
	return &UnavailableError{Why: err.Error()}
}

// Said is of a failure and the next one what tells more: the next, unless only the one before was an answer of Redis.
func Said(before, next error) error {
	var answer redis.Error
	if errors.As(before, &answer) && !errors.As(next, &answer) {
		return before
	}
	return next
}

// Transient reports whether an error of Redis may pass within a call's time: no answer, or a node that is loading, failing over or
// moving.
func Transient(err error) bool {
	if errors.Is(err, ErrUnavailable) {
		return errors.Is(err, ErrNoAnswer)
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return true
	}
	if strings.Contains(answer.Error(), "NOREPLICAS ") { // within a script's error, on Redis 6
		return true
	}
	for _, prefix := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "UNBLOCKED"} {
		if strings.HasPrefix(answer.Error(), prefix) {
			return true
		}
	}
	return false
}

// TransitionError says that the flow does not allow what was asked, and what it allows.
type TransitionError struct {
	State   State
	Allowed []Next
	Why     string // what a FAILED ticket failed at, or empty
	Wants   string // the state that an administrator's call needs; empty of an agent's
}

func (e *TransitionError) Error() string {
	said := fmt.Sprintf("the flow does not allow this in state %s", e.State)
	if e.Why != "" {
		said += " (" + e.Why + ")"
	}
	if e.Wants != "" {
		said += ": it must be " + e.Wants
	}
	return said
}

// UnknownStepError is an ErrUnknownStep with the names that the flow has.
type UnknownStepError struct {
	Flow  string
	Known []string
}

func (e *UnknownStepError) Error() string {
	return fmt.Sprintf("%v: %s has %s", ErrUnknownStep, e.Flow, strings.Join(e.Known, ", "))
}

// Unwrap makes it an ErrUnknownStep.
func (e *UnknownStepError) Unwrap() error { return ErrUnknownStep }

// notFound is the error for a ticket that is not there.
func notFound() error {
	return fmt.Errorf("%w: nobody has claimed it, or it is older than tickets are kept", ErrTicketNotFound)
}
