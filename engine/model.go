// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"time"

	"github.com/picketd/picket/engine/store"
)

// Status says whether a claim is held.
type Status string

// The statuses of a claim.
const (
	Held     Status = "held"
	Lost     Status = "lost"
	Released Status = "released"
)

// Reason says why a claim ended.
type Reason string

// The reasons why a claim ended.
const (
	ReasonReleased    Reason = "released"
	ReasonProcessExit Reason = "process_exit"
	ReasonExpired     Reason = "expired"
	ReasonTaken       Reason = "taken"
	ReasonSilent      Reason = "silent"
	ReasonMaxHold     Reason = "max_hold"
	ReasonStoreReset  Reason = "store_reset"
	ReasonForced      Reason = "forced"
)

// Claim is a claim at one moment.
type Claim struct {
	ID        string
	Token     int64
	Ticket    store.TicketID
	Status    Status
	Reason    Reason        // empty while held
	Trusted   time.Duration // for how long it can be relied upon from now; 0 when ended
	Margin    time.Duration // how much longer the lock stays, at least
	Since     time.Time
	PID       int // 0: no process is watched
	UID       uint32
	Heartbeat time.Duration // 0: none promised
	MaxHold   time.Duration
}

// ClaimRequest asks for a claim. The durations are checked against their limits by Claim.
type ClaimRequest struct {
	Asset     store.Asset
	Task      string
	Flow      string // empty: asset-inference
	Wait      time.Duration
	PID       int // 0: none named
	Heartbeat time.Duration
	MaxHold   time.Duration
	Request   string // the caller's own name for this request; empty: it has none
	Peer      Peer
}

// ClaimResult is a granted claim, or, when Claim is nil, a terminal ticket that needs none.
type ClaimResult struct {
	Claim  *Claim
	Ticket store.Ticket
	Next   []store.Next
}
