// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import "time"

// Status answers GET /v1/status.
type Status struct {
	Version   string        `json:"version"`
	Host      string        `json:"host"`
	ID        string        `json:"id" doc:"The daemon's identity, that of its outbox."`
	Run       string        `json:"run" doc:"This run of the daemon."`
	PID       int           `json:"pid"`
	StartedAt time.Time     `json:"started_at"`
	Ready     bool          `json:"ready"`
	Draining  bool          `json:"draining"`
	Checks    []Check       `json:"checks" doc:"What /readyz looks at."`
	Claims    int           `json:"claims" doc:"Claims that are held."`
	Outbox    OutboxStatus  `json:"outbox"`
	Channels  []ChannelInfo `json:"channels"`
	LockTTLMS int64         `json:"lock_ttl_ms"`
}

// Check is one condition of readiness.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error" doc:"Why not; empty when ok."`
}

// Readiness answers GET /readyz?verbose, with 200 or 503.
type Readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// OutboxStatus sums up the outbox.
type OutboxStatus struct {
	Staged      int   `json:"staged"`
	Ready       int   `json:"ready" doc:"Committed or adopted, and not settled on every channel."`
	OldestAgeMS int64 `json:"oldest_age_ms" doc:"Age of the oldest of them, 0 when there is none."`
}

// ChannelInfo is a configured channel, without its secrets.
type ChannelInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	MinSeverity string `json:"min_severity"`
	AtMostOnce  bool   `json:"at_most_once"`
}
