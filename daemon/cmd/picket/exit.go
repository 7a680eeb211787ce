// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/picketd/picket/sockapi/client"
)

// The exit codes, where they can be those of sysexits.h.
const (
	exitFailed      = 1   // the ticket is FAILED, done says no, what was asked for is not there
	exitUsage       = 64  // wrong usage
	exitData        = 65  // bad input, or not allowed by the flow
	exitUnavailable = 69  // the daemon or Redis is not reachable
	exitTempFail    = 75  // held by another, or try later
	exitNoPerm      = 77  // not permitted, by the daemon or by its socket
	exitConfig      = 78  // configuration
	exitLost        = 124 // the claim was lost, or a write was refused as stale
	exitInternal    = 125 // exec: a failure of Picket's own
	exitCannotRun   = 126 // exec: the command cannot be run
	exitNotFound    = 127 // exec: there is no such command
)

// codeExit is how a code of the socket API ends a command.
func codeExit(code client.Code) int {
	switch code {
	case client.BadRequest, client.Invalid, client.InvalidAsset, client.InvalidTask, client.UnknownFlow, client.UnknownStep, client.UnknownChannel,
		client.IllegalTransition, client.StepConflict, client.ContentConflict, client.FlowMismatch, client.HostAlive, client.BodyTooLarge:
		return exitData
	case client.ClaimNotFound, client.ClaimLost, client.StaleToken:
		return exitLost
	case client.LockHeld, client.TooManyClaims, client.TooManyCalls, client.Draining:
		return exitTempFail
	case client.StoreUnavailable, client.ReplicasMissing, client.OutboxUnavailable:
		return exitUnavailable
	case client.Forbidden:
		return exitNoPerm
	}
	return exitFailed
}

// exitError ends the command with a code; without a message nothing is printed.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Sprintf(format, args...)}
}

// jsonError is an error of a command that was asked for JSON.
type jsonError struct{ error }

func (e *jsonError) Unwrap() error { return e.error }

// exitCode maps what a command ended with to its exit code.
func exitCode(err error) int {
	own, isOwn := errors.AsType[*exitError](err)
	p, isProblem := errors.AsType[*client.Problem](err)
	switch unreachable := errors.Is(err, client.ErrUnreachable); {
	case err == nil:
		return 0
	case isOwn:
		return own.code
	case isProblem:
		return codeExit(p.Code)
	case unreachable && errors.Is(err, fs.ErrPermission):
		return exitNoPerm
	case unreachable, errors.Is(err, client.ErrNoAnswer):
		return exitUnavailable
	}
	return exitFailed
}

// printError prints an error for people, or as the daemon's problem for programs.
func printError(w io.Writer, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	if _, ok := errors.AsType[*jsonError](err); ok {
		if p, ok := errors.AsType[*client.Problem](err); ok {
			_ = json.NewEncoder(w).Encode(p)
			return
		}
	}
	for line := range strings.SplitSeq(describe(err), "\n") {
		fmt.Fprintf(w, "%spicket: %s\n", priority(journal.PriErr), clean(line))
	}
}

// priority stands in front of a line of standard error when that leads to journald, which takes it off (sd-daemon(3)).
func priority(p journal.Priority) string {
	if journaled, err := journal.StderrIsJournalStream(); !journaled || err != nil {
		return ""
	}
	return fmt.Sprintf("<%d>", p)
}

// describe says what went wrong, and what would be right.
func describe(err error) string {
	if errors.Is(err, client.ErrNoAnswer) {
		return err.Error() + ": systemctl status picketd and journalctl -u picketd say why"
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || !errors.Is(err, client.ErrUnreachable) {
		return err.Error()
	}
	right := "picket daemon must run there, or --socket or PICKET_SOCKET name another"
	if errors.Is(err, fs.ErrPermission) {
		right = "root may, and who is in the socket's group"
	}
	return fmt.Sprintf("cannot reach the daemon at %s: %v; %s", op.Addr, op.Err, right)
}
