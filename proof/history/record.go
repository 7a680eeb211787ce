// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package history is what the proof writes down while it torments Picket, and what its checker reads: one JSON object a line, each
// with the time at which its writer knew it. It knows nothing of Picket but that it is asked by HTTP: calls and answers are kept as
// they went over the wire.
package history

import "encoding/json"

// Record is a line of a history. Exactly one of its pointers is set.
type Record struct {
	At int64  `json:"at"` // nanoseconds of CLOCK_BOOTTIME, which all processes of the machine share
	By string `json:"by"` // who wrote it, such as agent host-a/2.1 (a worker of a process), receiver, nemesis, journal

	Setup   *Setup   `json:"setup,omitempty"`
	Call    *Call    `json:"call,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
	Sending *Sending `json:"sending,omitempty"`
	Fault   *Fault   `json:"fault,omitempty"`
	Audit   *Audit   `json:"audit,omitempty"`
	Process *Process `json:"process,omitempty"`
}

// Setup is a history's first record: what was run, and what may be relied on.
type Setup struct {
	Seed     uint64    `json:"seed"`
	Topology string    `json:"topology"`           // standalone, sentinel, cluster
	Profile  string    `json:"profile"`            // which faults there may be: see nemesis.Profiles
	LengthMS int64     `json:"length_ms"`          // how long there were faults
	Mutation string    `json:"mutation,omitempty"` // the name of the rule that was taken out of the product; empty: none
	Hosts    []string  `json:"hosts"`
	TTLMS    int64     `json:"ttl_ms"` // of a lock
	Channels []Channel `json:"channels"`
	Versions []string  `json:"versions"` // of picket, Go, Redis and kernel
}

// Channel is one on which people are told.
type Channel struct {
	Name       string `json:"name"`
	AtMostOnce bool   `json:"at_most_once"`
	TimeoutMS  int64  `json:"timeout_ms"`
}

// Call is a request that is about to be sent. One without an Answer has an unknown end: it may have happened, or happen yet.
type Call struct {
	ID     string          `json:"id"` // unique in the history
	Host   string          `json:"host"`
	PID    int             `json:"pid"`    // of the process that calls
	Method string          `json:"method"` // GET, POST, DELETE
	Path   string          `json:"path"`   // with the query
	Body   json.RawMessage `json:"body,omitempty"`
}

// Answer is the answer to the call with that ID. Without a Status there was none (cut off, timed out): the end is unknown.
type Answer struct {
	ID     string          `json:"id"`
	Status int             `json:"status"` // of HTTP; 0: none
	Body   json.RawMessage `json:"body,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Sending is a request that a receiver got, written when the receiver has answered or hung up. At is when that was.
type Sending struct {
	Channel string `json:"channel"`
	Host    string `json:"host"`   // which host's daemon sent it
	Key     string `json:"key"`    // the header Idempotency-Key, with its quotation marks
	Digest  string `json:"digest"` // SHA-256 of the body's bytes, in hex
	Title   string `json:"title"`  // data.title in the body
	Asset   string `json:"asset"`  // data.asset
	Task    string `json:"task"`   // data.task
	Run     int64  `json:"run"`    // data.run
	Begin   int64  `json:"begin"`  // when its headers had come, as At
	Status  int    `json:"status"` // what was answered; 0: the connection was reset, or never answered
	Stamp   int64  `json:"stamp"`  // the header webhook-timestamp: the sender's wall clock in seconds, when it made the request

	Told *Told `json:"told,omitempty"` // nil: its body was not read, or the history lacks it
}

// Told is what else a body tells people.
type Told struct {
	Text     string          `json:"text"`     // data.text
	Severity string          `json:"severity"` // data.severity
	Facts    json.RawMessage `json:"facts"`    // data.facts
}

// Fault is the beginning or the end of a fault. One that is over in a moment has both.
type Fault struct {
	ID     int    `json:"id"`   // the same at its beginning and its end
	Name   string `json:"name"` // see nemesis.Faults
	Target string `json:"target"`
	End    bool   `json:"end"`
	Loses  bool   `json:"loses"`           // Redis may lose what it confirmed, from its beginning to its end
	Keeps  bool   `json:"keeps,omitempty"` // but not what was answered when as many replicas had it as are waited for
	Steps  bool   `json:"steps"`           // the clock of a Redis is stepped
	Detail string `json:"detail,omitempty"`
}

// Audit is a record of a daemon's audit, as it came to journald.
type Audit struct {
	Host   string            `json:"host"`
	Fields map[string]string `json:"fields"`
}

// Process is the beginning or the end of a process of an agent, of a daemon, or of a command under picket exec or picket run, which is
// told of as long as it is at work.
type Process struct {
	PID    int    `json:"pid"`
	Host   string `json:"host"`
	Kind   string `json:"kind"` // agent, exec, command, run, scanner, daemon
	End    bool   `json:"end"`
	Asset  string `json:"asset,omitempty"` // of exec, command and scanner
	Task   string `json:"task,omitempty"`
	Token  int64  `json:"token,omitempty"`  // of a command or scanner, from PICKET_TOKEN
	Detail string `json:"detail,omitempty"` // how it ended
	Due    int64  `json:"due,omitempty"`    // when it ends by itself, or was asked to, in ns of CLOCK_BOOTTIME
}
