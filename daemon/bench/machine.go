// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// describeMachine says where the figures were measured, without the machine's name, and how busy it was with other things.
func describeMachine(redisVersion string) string {
	return fmt.Sprintf("%d cores of %s, Linux %s, %s, Redis %s; load before the run %s",
		runtime.NumCPU(), cpuModel(), kernel(), runtime.Version(), redisVersion, load())
}

func cpuModel() string {
	if model := lineOf("/proc/cpuinfo", "model name"); model != "" {
		return model
	}
	return runtime.GOARCH
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "?"
	}
	release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-") // what follows names a build
	return release
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// lineOf is what follows "NAME:" in the first such line of a file, or "".
func lineOf(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		key, value, ok := strings.Cut(string(line), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
