// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/daemon"
	"github.com/picketd/picket/sockapi/client"
)

// configuration looks at the file, that of the running daemon unless another is named, and with it at Redis when no daemon could say how that is.
func (v *visit) configuration(ctx context.Context) {
	path := v.c.File
	if path == "" && v.pid > 0 {
		path = configOf(v.pid)
	}
	c, err := daemon.LoadConfig(path)
	switch {
	case err != nil && v.answered && (everyLineEnds(err.Error(), unix.EACCES) || everyLineEnds(err.Error(), unix.ENOENT)):
		v.ok("configuration", "it was not looked at: %v", err) // this user may not read it, or it is elsewhere
		return
	case err != nil:
		v.wrong("configuration", "", "%v", err)
		return
	}
	var checks []client.Check
	var redis client.RedisStatus
	var warnings []string
	if !v.answered { // else the daemon has told it
		if checks, redis, warnings, err = c.Examine(ctx); err != nil {
			v.wrong("configuration", "", "%v", err)
			return
		}
	}
	v.ok("configuration", "the file is good")
	for _, w := range c.Warnings() {
		v.warn("configuration", "", "%s", w)
	}
	if v.answered {
		return
	}
	v.checks(checks)
	v.redis(redis)
	for _, w := range warnings {
		v.warn("redis_settings", "", "%s", w)
	}
	if at := c.Socket.Path; at != v.c.Socket {
		v.warn("socket", fmt.Sprintf("--socket %s, or PICKET_SOCKET", at), "the configuration has it at %s", at)
	}
}

// everyLineEnds reports whether all that is wrong is one error of the system.
func everyLineEnds(text string, errno syscall.Errno) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasSuffix(line, errno.Error()) {
			return false
		}
	}
	return true
}

// configOf is the file that a running daemon was started with, empty when it was not told, or this user cannot see it.
func configOf(pid int) string {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	path := ""
	for one := range strings.SplitSeq(string(env), "\x00") {
		if v, ok := strings.CutPrefix(one, "PICKET_CONFIG="); ok {
			path = v
		}
	}
	args := strings.Split(string(line), "\x00")
	for i, arg := range args {
		name, v, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case name != "config" || !strings.HasPrefix(arg, "-"):
		case ok:
			path = v
		case i+1 < len(args):
			path = args[i+1]
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return ""
	}
	return filepath.Join(cwd, path)
}
