// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "time"

// The statuses of a claim.
const (
	StatusHeld     = "held"
	StatusLost     = "lost"
	StatusReleased = "released"
)

// The reasons why a claim ended.
const (
	ReasonReleased    = "released"
	ReasonProcessExit = "process_exit"
	ReasonExpired     = "expired"
	ReasonTaken       = "taken"
	ReasonSilent      = "silent"
	ReasonMaxHold     = "max_hold"
	ReasonStoreReset  = "store_reset"
	ReasonForced      = "forced"
)

// maxRequestName is what a daemon takes as a request's name, in bytes; one that refuses a shorter one knows no names.
const maxRequestName = 64

// ClaimRequest is the body of POST /v1/claims. Durations are Go's: "30s", "10m". In the tags of all requests, lengths count
// bytes and form says which further rules the daemon checks a string by.
type ClaimRequest struct {
	Asset     string `json:"asset" form:"asset" minLength:"1" maxLength:"256" doc:"What is examined: a host name, an IP, a CMDB id. 1-256 bytes."`
	Task      string `json:"task" form:"task" minLength:"1" maxLength:"128" doc:"The run over the asset. 1-128 of A-Z a-z 0-9 . _ -"`
	Flow      string `json:"flow,omitempty" minLength:"1" maxLength:"64" doc:"The state machine. Defaults to asset-inference."`
	Wait      string `json:"wait,omitempty" form:"duration" max:"10m" doc:"How long to wait for a held asset, at most 10m. Defaults to not at all."`
	PID       int    `json:"pid,omitempty" minimum:"1" doc:"The process for which the claim is held, of the caller's user."`
	Heartbeat string `json:"heartbeat,omitempty" form:"duration" min:"1s" max:"24h" doc:"The longest silence, 1s to 24h. Alone: no process is watched."`
	MaxHold   string `json:"max_hold,omitempty" form:"duration" min:"1s" doc:"How long the claim may last, 1s to the configured ceiling."`
	Request   string `json:"request,omitempty" minLength:"1" maxLength:"64" doc:"A name for this request that no other of yours has. Sent again by the same process, for the same ticket, it is answered with the claim that it was granted, while that is held."`
}

// Claim is an agent's live right to advance one ticket.
type Claim struct {
	ID          string    `json:"id" doc:"The claim's id."`
	Token       int64     `json:"token" doc:"The fencing token: grows with every grant on the asset."`
	Asset       string    `json:"asset" doc:"The asset, in its canonical form."`
	Task        string    `json:"task" doc:"The task."`
	Ticket      string    `json:"ticket" doc:"The ticket's id, ASSET/TASK."`
	Status      string    `json:"status" enum:"held,lost,released" doc:"Whether the claim is held."`
	Reason      *string   `json:"reason" doc:"Why it ended; null while held."`
	TrustedMS   int64     `json:"trusted_ms" doc:"For how long the claim can be relied upon from now, without another renewal or sign of life: the least that its lock, its heartbeat and its max_hold leave. 0 when ended."`
	MarginMS    int64     `json:"margin_ms" doc:"How much longer the lock stays than the claim can be relied upon, at least: in that time what runs under the claim is ended."`
	Since       time.Time `json:"since" doc:"When it was granted."`
	PID         *int      `json:"pid" doc:"The watched process, or null."`
	UID         uint32    `json:"uid" doc:"The user whose claim it is."`
	HeartbeatMS *int64    `json:"heartbeat_ms" doc:"The longest silence, or null when none was promised."`
	MaxHoldMS   int64     `json:"max_hold_ms" doc:"How long the claim may last."`
}

// Next is one thing that may come next on a ticket: a step with the states it may lead to, or the names notify and finish.
type Next struct {
	Step   string   `json:"step" doc:"The step, or notify or finish."`
	States []string `json:"states" doc:"The states that it may lead to."`
}

// ClaimResponse answers POST /v1/claims. Claim is nil and Next empty when the ticket is terminal.
type ClaimResponse struct {
	Claim  *Claim `json:"claim" doc:"The claim, or null when the ticket is terminal."`
	Ticket Ticket `json:"ticket"`
	Next   []Next `json:"next"`
}

// ClaimBody answers GET /v1/claims/{id} and POST …/heartbeat.
type ClaimBody struct {
	Claim Claim `json:"claim"`
}

// ClaimList answers GET /v1/claims.
type ClaimList struct {
	Claims []Claim `json:"claims"`
}
