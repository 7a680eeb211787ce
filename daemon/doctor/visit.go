// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"fmt"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// The levels of a finding.
const (
	OK      = "ok"
	Warning = "warning"
	Wrong   = "wrong"
)

// Finding is what is said about one thing.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Found string `json:"found"`
	Right string `json:"right"` // what would be right; empty when it is, or when Found says it too
}

// Diagnosis is all that was found. OK: a daemon answers, and nothing is wrong.
type Diagnosis struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// Config says where to look.
type Config struct {
	Socket   string             // the daemon's
	File     string             // the configuration; empty: that of the running daemon, or the default one
	Describe func(error) string // says of a call's error what would be right, too
}

// visit is one examination.
type visit struct {
	c      Config
	client *client.Client
	found  []Finding

	journald string // its socket

	running  bool // as far as systemd tells
	answered bool // the daemon did
	pid      int  // the daemon's, when it answered
}

func (v *visit) ok(check, format string, args ...any) { v.add(check, OK, "", format, args...) }

func (v *visit) warn(check, right, format string, args ...any) {
	v.add(check, Warning, right, format, args...)
}

func (v *visit) wrong(check, right, format string, args ...any) {
	v.add(check, Wrong, right, format, args...)
}

func (v *visit) add(check, level, right, format string, args ...any) {
	v.found = append(v.found, Finding{check, level, fmt.Sprintf(format, args...), right})
}

func localTime(t time.Time) string { return t.Local().Format(time.DateTime) }
