// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package doctor looks for what commonly goes wrong on a host, and says what would be right: the daemon, its socket, its
// configuration and rights, what systemd tells of it, Redis, and the kernel. It changes nothing, and needs no daemon.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// limit is how long the daemon, and Redis without one, may take for all that is asked.
const limit = 10 * time.Second

// activationLimit is how long a call may take when systemd has the socket and runs no daemon.
const activationLimit = time.Second

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

// checks are gone through in this order. A check may rest on what those before it found.
var checks = []struct {
	look func(*visit, context.Context)
	own  bool // it has the limit for itself
}{
	{(*visit).service, false},
	{(*visit).socket, false},
	{(*visit).daemon, false},
	{(*visit).configuration, true},
	{(*visit).credentials, false},
	{(*visit).rights, true},
	{(*visit).nightly, false},
	{(*visit).journal, false},
	{(*visit).kernel, false},
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

// Examine goes through all checks. answered says whether the daemon did, or would if this user were let in.
func Examine(ctx context.Context, c Config) (d Diagnosis, answered bool) {
	v := &visit{c: c, client: client.New(c.Socket), found: []Finding{}, journald: "/run/systemd/journal/socket"}
	defer v.client.CloseIdleConnections()
	all, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, check := range checks {
		if !check.own {
			check.look(v, all)
			continue
		}
		own, cancel := context.WithTimeout(ctx, limit)
		check.look(v, own)
		cancel()
	}
	wrong := func(check string) bool {
		return slices.ContainsFunc(v.found, func(f Finding) bool { return f.Level == Wrong && (check == "" || f.Check == check) })
	}
	return Diagnosis{OK: v.answered && !wrong(""), Findings: v.found}, v.answered || wrong("access")
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

// daemon asks the daemon how it is, or says why it does not answer.
func (v *visit) daemon(ctx context.Context) {
	asking := ctx
	if !v.running { // a call would wait in systemd's socket
		var end context.CancelFunc
		asking, end = context.WithTimeout(ctx, activationLimit)
		defer end()
	}
	s, err := v.client.Status(asking)
	switch {
	case err == nil:
		v.answered, v.pid = true, s.PID
		for _, look := range toldChecks {
			look(v, ctx, s)
		}
	case errors.Is(err, fs.ErrPermission):
		v.access(v.c.Socket)
	case errors.Is(err, context.DeadlineExceeded) && !v.running:
		v.wrong("daemon", "", "nobody answers: systemd has the socket, and no daemon runs")
	case errors.Is(err, context.DeadlineExceeded):
		v.wrong("daemon", "look at its log, and whether it is stopped (ps: state T); restart it", "it does not answer within %s", limit)
	case errors.Is(err, syscall.ECONNREFUSED):
		v.wrong("daemon", whereSocket(ctx, v.c.Socket), "%s", v.c.Describe(err))
	default:
		v.wrong("daemon", "", "%s", v.c.Describe(err))
	}
}

func localTime(t time.Time) string { return t.Local().Format(time.DateTime) }
