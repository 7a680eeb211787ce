// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"io"
	"strings"
	"sync"
	"testing"
)

var oneRun sync.Mutex

// runs is run, one at a time: the library parses the flag for help, which all commands share, without a lock.
func runs(args []string, in io.Reader, out, errs io.Writer) int {
	oneRun.Lock()
	defer oneRun.Unlock()
	return picketMain(args, in, out, errs)
}

func TestArrange(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"status":                              "status",
		"status --json":                       "status --json",
		"--socket /s status":                  "status --socket /s",
		"ticket show a b --json":              "ticket show --json -- a b",
		"ticket --socket=/s show a --json b":  "ticket show --socket=/s --json -- a b",
		"ticket show show ls":                 "ticket show -- show ls",
		"ticket show -- -a -b":                "ticket show -- -- -a -b",
		"step online UP --fact a=1 --fact b":  "step --fact a=1 --fact b -- online UP",
		"step help h --facts -":               "step --facts - -- help h",
		"exec a t --wait 3s -- c --json -- d": "exec --wait 3s -- a t -- c --json -- d",
		"exec -E 3 a t -- c":                  "exec -E 3 -- a t -- c",
		"fail x y --final":                    "fail --final -- x y",
		"exec a t -h -- c":                    "exec --help",
		"help ticket ls":                      "ticket ls --help",
	} {
		got, err := arrange(newApp(), strings.Fields("picket "+in))
		if err != nil || strings.Join(got, " ") != strings.TrimSpace("picket "+want) {
			t.Errorf("%q becomes %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"exec a t --wait", "exec a t --wait -- c", "--socket"} {
		if got, err := arrange(newApp(), strings.Fields("picket "+in)); exitCode(err) != exitUsage {
			t.Errorf("%q becomes %q, %v; want a usage error", in, got, err)
		}
	}
}

func TestUsageErrorsExitWith64(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "a command is missing",
		"nosuch":                      "status",
		"ticket":                      "picket ticket has show, ls, history, reopen, export",
		"ticket nosuch":               `no command "nosuch"`,
		"ticket show":                 "usage: picket ticket show ASSET [TASK]",
		"ticket history a":            "usage: picket ticket history ASSET TASK",
		"ticket show a b c":           "usage: picket ticket show ASSET [TASK]",
		"ticket show a b --nosuch":    "no flag --nosuch",
		"ticket ls --limit x":         "whole number",
		"ticket ls --limit 0":         "--limit takes 1 to 1000",
		"ticket ls --limit 1001":      "--limit takes 1 to 1000",
		"ticket ls more":              "0 arguments are needed, not 1",
		"completion":                  "1 argument is needed, not 0",
		"-v":                          "no flag -v;",
		"status --v=1":                "no flag --v;",
		"help nosuch":                 `no command "nosuch"`,
		"help ticket nosuch":          `no command "nosuch"`,
		"nosuch --help":               `no command "nosuch"`,
		"exec a t sh -c x":            "no flag -c, and -- is missing before the command",
		"exec a t true":               "-- is missing before the command; usage: picket exec ASSET TASK -- CMD",
		"status --socket=":            "the path of the daemon's socket",
		"exec --socket= a t -- true":  "the path of the daemon's socket",
		"exec a b":                    "-- and a command",
		"exec a -- c":                 "-- and a command",
		"exec a b --":                 "-- and a command",
		"exec a b --wait 30 -- c":     "30s",
		"exec a b --wait -3s -- c":    "30s",
		"exec a b -E 256 -- c":        "0 to 255",
		"step":                        "usage: picket step NAME STATE",
		"step a b --claim c --fact x": "KEY=TEXT",
		"step a b --claim c --fact x=1 --fact x=2": "twice",
		"step a b --claim c --fact x:={":           "not JSON",
		"step a b --claim c --fact x=1 --facts f":  "cannot stand together",
		"step a b --claim=":                        "--claim",
		"notify --claim c --title t":               "--severity",
		"notify --claim c --text t --text-file f":  "cannot stand together",
		"lock break a":                             "--reason is needed",
		"lock break --reason r":                    "usage: picket lock break ASSET",
		"ticket reopen a b":                        "--reason is needed",
		"claim release --force":                    "usage: picket claim release ID",
		"done":                                     "usage: picket done STEP",
		"done online --asset= --task=":             "--asset",
		"completion tcsh":                          "bash|zsh|fish",
		"daemon extra":                             "0 arguments",
		"status --json=maybe":                      `"maybe" for -json: true or false is needed`,
	} {
		var out, errs strings.Builder
		code := runs(strings.Fields("picket "+in), strings.NewReader(""), &out, &errs)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), want) ||
			!strings.HasPrefix(errs.String(), "picket: ") || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("picket %s exits with %d\nout: %s\nerr: %s\nwant %d and %q on one line", in, code, &out, &errs, exitUsage, want)
		}
	}
}

// Every command must say what is wrong in its own way, because urfave's default goes to standard output with code 1.
func TestEveryCommandRefusesUnknownFlags(t *testing.T) {
	t.Parallel()
	for _, path := range commandPaths(newApp().Commands, "picket") {
		var out, errs strings.Builder
		code := runs(append(strings.Fields(path), "--no-such-flag"), strings.NewReader(""), &out, &errs)
		if code != exitUsage || out.Len() > 0 {
			t.Errorf("%s --no-such-flag exits with %d\nout: %s\nerr: %s", path, code, &out, &errs)
		}
	}
}
