// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/picketd/picket/engine/redistest"
)

// TestScripts runs testdata/script with a real redis-server. Besides testscript's own commands there are:
//
//	host NAME           start a daemon; the first one's socket becomes PICKET_SOCKET, each one's is $NAME
//	freeze NAME         stop it with SIGSTOP
//	thaw NAME           let it go on
//	stop NAME           end it with SIGTERM
//	exits CODE CMD…     run a command that must exit with CODE
//	stranger CODE CMD…  the same as user 12345, who may connect all the same; needs root
//	keys FILE           write the paths of the JSON Lines that the last command printed to FILE: its contract
//
// [root] says whether root runs the tests.
//
// With UPDATE_SCRIPTS=1 what cmp compares with is written anew.
func TestScripts(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	var scripts atomic.Int64
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Values["redis"] = redis.SocketPath()
			env.Values["prefix"] = fmt.Sprintf("script%d", scripts.Add(1)) // so that scripts share no asset
			env.Values["hosts"] = map[string]*host{}
			env.Setenv("PICKET_SOCKET", env.WorkDir+"/none.sock")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"host": hostCmd, "exits": exitsCmd, "stranger": strangerCmd, "keys": keysCmd,
			"freeze": signalCmd((*host).freeze), "thaw": signalCmd((*host).thaw), "stop": signalCmd((*host).stop),
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
	})
}

func hosts(ts *testscript.TestScript) map[string]*host { return ts.Value("hosts").(map[string]*host) }

func hostCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: host NAME")
	}
	channels := fmt.Sprintf(`
[[channel]]
name = "ops"
type = "exec"
command = ["/bin/sh", "-c", 'cat >> "%[1]s/told"; echo >> "%[1]s/told"']
[[channel]]
name = "broken"
type = "exec"
command = ["/bin/sh", "-c", "exit 65"]
min_severity = "critical"
`, ts.Getenv("WORK"))
	h, err := startHost(args[0], ts.Value("redis").(string), ts.Value("prefix").(string), channels)
	ts.Check(err)
	ts.Defer(func() {
		h.stop()
		if h.crashed() {
			ts.Fatalf("%s crashed: %s", args[0], &h.log)
		}
		ts.Logf("%s says: %s", args[0], &h.log)
	})
	if len(hosts(ts)) == 0 {
		ts.Setenv("PICKET_SOCKET", h.socket)
	}
	ts.Setenv(args[0], h.socket)
	hosts(ts)[args[0]] = h
}

func signalCmd(do func(*host)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 || hosts(ts)[args[0]] == nil {
			ts.Fatalf("a host's name is needed")
		}
		do(hosts(ts)[args[0]])
	}
}

func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	checkExit(ts, want, ts.Exec(args[1], args[2:]...))
}

// strangerCmd keeps the right to pass through closed folders, so that it is the daemon that refuses. That right is there only
// from the first program on, which is the shell.
func strangerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: stranger CODE CMD…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := exec.Command("/bin/sh", slices.Concat([]string{"-c", `cd "$0" && exec "$@"`, ts.MkAbs(".")}, args[1:])...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "PICKET_SOCKET="+ts.Getenv("PICKET_SOCKET"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 12345, Gid: 12345},
		AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE},
	}
	out, err := cmd.CombinedOutput()
	ts.Logf("%s", out)
	checkExit(ts, want, err)
}

func checkExit(ts *testscript.TestScript, want int, err error) {
	got := 0
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("cannot run it: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("it exits with %d, want %d", got, want)
	}
}

func keysCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keys FILE")
	}
	var paths []string
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var v any
		ts.Check(json.Unmarshal([]byte(line), &v))
		paths = appendPaths(paths, "", v)
	}
	slices.Sort(paths)
	text := strings.Join(slices.Compact(paths), "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// appendPaths appends the path of every value in v that is no object or list.
func appendPaths(paths []string, path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			paths = appendPaths(paths, path+"."+key, value)
		}
		if len(v) > 0 {
			return paths
		}
	case []any:
		for _, value := range v {
			paths = appendPaths(paths, path+"[]", value)
		}
		if len(v) > 0 {
			return paths
		}
	}
	return append(paths, path)
}
