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
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picketd/picket/engine/redistest"
)

// TestScripts runs testdata/script with a real redis-server. Besides testscript's own commands there are:
//
//	host NAME           start a daemon; the first one's socket becomes PICKET_SOCKET, each one's is $NAME
//	freeze NAME         stop it with SIGSTOP
//	thaw NAME           let it go on
//	stop NAME           end it with SIGTERM
//	exits CODE CMD…     run a command that must exit with CODE
//	keys FILE           write the paths of the JSON Lines that the last command printed to FILE: its contract
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
			"host": hostCmd, "exits": exitsCmd, "keys": keysCmd,
			"freeze": signalCmd((*host).freeze), "thaw": signalCmd((*host).thaw), "stop": signalCmd((*host).stop),
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
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("cannot run it: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
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
