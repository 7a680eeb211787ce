// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/picketd/picket/engine/store"
)

// The situations that callers tell apart with errors.Is. What an error says is a sentence for people.
var (
	ErrInvalid         = errors.New("invalid request") // always an *InvalidError
	ErrForbidden       = errors.New("not permitted")
	ErrClaimNotFound   = errors.New("no such claim")
	ErrStaleToken      = errors.New("a newer claim holds the asset; this write is refused")
	ErrStepConflict    = errors.New("the step is recorded with another result")
	ErrContentConflict = errors.New("the notification is accepted with another content")
	ErrFlowMismatch    = errors.New("the ticket follows another flow")
	ErrTooManyClaims   = errors.New("too many claims for this user")
	ErrHostNotFound    = errors.New("no such host")
	ErrHostAlive       = errors.New("the host is alive")
	ErrHostUnsure      = fmt.Errorf("%w, as far as this daemon can tell", ErrHostAlive)
	ErrDraining        = errors.New("the daemon is stopping")
)

// InvalidError says which field of a request is wrong. It is an ErrInvalid.
type InvalidError struct {
	Field   string // as in the request: asset, pid, heartbeat, max_hold
	Message string
}

func (e *InvalidError) Error() string        { return e.Field + ": " + e.Message }
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// HeldError says who holds the asset.
type HeldError struct {
	Asset  store.Asset
	Holder store.Holder // zero when the holder let go in the meantime
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
