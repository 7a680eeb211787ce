// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/picketd/picket/sockapi/client"
)

func commandPaths(commands []*cli.Command, prefix string) []string {
	var paths []string
	for _, c := range commands {
		path := prefix + " " + c.Name
		paths = append(append(paths, path), commandPaths(c.Subcommands, path)...)
	}
	return paths
}

// apiCodes reads the codes from the client's source, so that a new one cannot be forgotten.
func apiCodes(t *testing.T) []client.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../sockapi/client/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []client.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, client.Code(value))
		}
		return true
	})
	return codes
}

func TestEveryCodeHasAnExit(t *testing.T) {
	t.Parallel()
	want := map[int]string{
		exitFailed:      "TICKET_NOT_FOUND TASK_NOT_FOUND INTENT_NOT_FOUND HOST_NOT_FOUND TICKET_DAMAGED NOT_FOUND METHOD_NOT_ALLOWED INTERNAL",
		exitData:        "BAD_REQUEST INVALID INVALID_ASSET INVALID_TASK UNKNOWN_FLOW UNKNOWN_STEP UNKNOWN_CHANNEL ILLEGAL_TRANSITION STEP_CONFLICT CONTENT_CONFLICT FLOW_MISMATCH HOST_ALIVE BODY_TOO_LARGE",
		exitUnavailable: "STORE_UNAVAILABLE REPLICAS_MISSING OUTBOX_UNAVAILABLE",
		exitTempFail:    "LOCK_HELD DRAINING TOO_MANY_CLAIMS TOO_MANY_CALLS",
		exitNoPerm:      "FORBIDDEN",
		exitLost:        "CLAIM_LOST STALE_TOKEN CLAIM_NOT_FOUND",
	}
	exits := map[client.Code]int{}
	for exit, codes := range want {
		for code := range strings.FieldsSeq(codes) {
			exits[client.Code(code)] = exit
		}
	}
	codes := apiCodes(t)
	if len(codes) != len(exits) {
		t.Errorf("there are %d codes, and exits for %d", len(codes), len(exits))
	}
	for _, code := range codes {
		err := fmt.Errorf("cannot do it: %w", &client.Problem{Code: code})
		if got := exitCode(err); got != exits[code] {
			t.Errorf("%s exits with %d, want %d", code, got, exits[code])
		}
	}
}

// unreachable is how the client says that it could not connect to /s.
func unreachable(why error) error {
	op := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: "/s", Net: "unix"}, Err: why}
	return fmt.Errorf("%w: %w", client.ErrUnreachable, op)
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		0:               nil,
		exitFailed:      errors.New("some failure"),
		exitUsage:       exitf(exitUsage, "no"),
		exitUnavailable: fmt.Errorf("dial: %w", client.ErrUnreachable),
		exitNoPerm:      unreachable(unix.EACCES),
		exitLost:        &jsonError{&client.Problem{Code: client.ClaimLost}},
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v exits with %d, want %d", err, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	wrong := &client.Problem{
		Code: client.Invalid, Detail: "the request is not valid: body.asset must be short, and 1 more",
		Errors: []client.FieldError{{Location: "body.asset", Message: "must be short"}, {Location: "body.task", Message: "must be plain"}},
	}
	illegal := &client.Problem{
		Code: client.IllegalTransition, Detail: "the flow does not allow this in state INIT; allowed are online, finish",
		Allowed: []client.Next{{Step: client.StepOnline, States: []string{client.StateAssetOnline, client.StateAssetOffline}}, {Step: "finish"}},
	}
	problem := &client.Problem{Code: client.LockHeld, Status: 423, Detail: "held by\x1b[31m another"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&exitError{code: 1}, ""},
		{errors.New("a\nb"), "picket: a\npicket: b\n"},
		{problem, `picket: held by\x1b[31m another (LOCK_HELD)` + "\n"},
		{wrong, "picket: the request is not valid: body.asset must be short, and 1 more; body.task must be plain (INVALID)\n"},
		{illegal, "picket: the flow does not allow this in state INIT; allowed: online (ASSET_ONLINE, ASSET_OFFLINE), finish (ILLEGAL_TRANSITION)\n"},
		{unreachable(unix.EACCES), "picket: cannot reach the daemon at /s: permission denied; root may, and who is in the socket's group\n"},
		{&jsonError{errors.New("plain")}, "picket: plain\n"},
		{&jsonError{problem}, `{"title":"","status":423,"detail":"held by\u001b[31m another","code":"LOCK_HELD"}` + "\n"},
	} {
		var b strings.Builder
		if printError(&b, c.err); b.String() != c.want {
			t.Errorf("%v is reported as %q, want %q", c.err, b.String(), c.want)
		}
	}
}
