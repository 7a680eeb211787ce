// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package doctor looks for what commonly goes wrong on a host, and says what would be right: the daemon, its socket, its
// configuration and rights, what systemd tells of it, Redis, and the kernel. It changes nothing, and needs no daemon.
package doctor

import (
	"context"
	"errors"
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
