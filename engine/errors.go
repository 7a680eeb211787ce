// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The situations that callers tell apart with errors.Is. What an error says is a sentence for people.
var (
	ErrInvalidAsset      = errors.New("invalid asset")
	ErrInvalidTask       = errors.New("invalid task")
	ErrInvalid           = errors.New("invalid request") // always an *InvalidError
	ErrUnknownFlow       = errors.New("unknown flow")
	ErrUnknownStep       = errors.New("unknown step")
	ErrUnknownChannel    = errors.New("unknown channel")
	ErrForbidden         = errors.New("not permitted")
	ErrClaimNotFound     = errors.New("no such claim")
	ErrTicketNotFound    = errors.New("no such ticket")
	ErrStaleToken        = errors.New("a newer claim holds the asset; this write is refused")
	ErrStepConflict      = errors.New("the step is recorded with another result")
	ErrContentConflict   = errors.New("the notification is accepted with another content")
	ErrFlowMismatch      = errors.New("the ticket follows another flow")
	ErrTooManyClaims     = errors.New("too many claims for this user")
	ErrStoreUnavailable  = errors.New("cannot use Redis")
	ErrOutboxUnavailable = errors.New("the outbox cannot be written")
	ErrDraining          = errors.New("the daemon is stopping")
)

// InvalidError says which field of a request is wrong. It is an ErrInvalid.
type InvalidError struct {
	Field   string // as in the request: pid, heartbeat, max_hold
	Message string
}

func (e *InvalidError) Error() string        { return e.Field + ": " + e.Message }
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// StoreError says why Redis cannot be used, in words that are fit for anybody. It is an ErrStoreUnavailable.
type StoreError struct {
	Why    string
	silent bool // it answered nothing
	full   bool // it refused for want of memory, so nothing was written
}

func (e *StoreError) Error() string { return ErrStoreUnavailable.Error() + ": " + e.Why }
func (e *StoreError) Is(target error) bool {
	return target == ErrStoreUnavailable || e.silent && target == errNoAnswer
}

// ChannelError says why a decision about a notification finds no channel, in words that are fit for anybody. It is an
// ErrUnknownChannel.
type ChannelError struct{ Why string }

func (e *ChannelError) Error() string        { return e.Why }
func (e *ChannelError) Is(target error) bool { return target == ErrUnknownChannel }

// undecided is a ChannelError for a channel as it was named, any when it is empty, none of which is in one of the statuses, given as
// ",dead,parked,".
func undecided(channel, statuses string) error {
	which := "none of the ticket's channels is "
	if channel != "" {
		which = "the ticket has no such channel that is "
	}
	return &ChannelError{which + strings.ReplaceAll(strings.Trim(statuses, ","), ",", ", ") + "; its delivery says what they are"}
}

// HeldError says who holds the asset.
type HeldError struct {
	Asset  Asset
	Holder Holder // zero when the holder let go in the meantime
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held on host %q for task %q, its lock has %s left", e.Asset, e.Holder.Host, e.Holder.Task,
		e.Holder.Remaining.Round(time.Millisecond))
}

// LostError says why a claim ended. For the agent it is final.
type LostError struct {
	Reason Reason
	PID    int // with ProcessExit: the process that ended
}

func (e *LostError) Error() string {
	if e.Reason == ReasonProcessExit {
		return fmt.Sprintf("the claim ended because process %d ended: claim again from a process that stays, or with a heartbeat", e.PID)
	}
	return lostSentence[e.Reason]
}

var lostSentence = map[Reason]string{
	ReasonReleased:   "the claim was released: claim again to go on",
	ReasonExpired:    "the claim ended because its lock could not be renewed in time: claim again to go on",
	ReasonTaken:      "the claim ended because another claim holds the asset",
	ReasonSilent:     "the claim ended because no sign of life came within its heartbeat",
	ReasonMaxHold:    "the claim ended because it lasted as long as its max_hold",
	ReasonStoreReset: "the claim ended because Redis lost the asset's lock, grant and ticket",
	ReasonForced:     "the claim was ended by an administrator",
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
