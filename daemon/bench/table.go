// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// row is a figure beside its floor. One without a target is there to be read only.
type row struct {
	id, figure, picket, floor, ratio, target string
	ok                                       bool
}

func (r row) verdict() string {
	switch {
	case r.target == "":
		return ""
	case r.ok:
		return "ok"
	}
	return "misses its target"
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
func perSecond(r float64) string          { return fmt.Sprintf("%.0f/s", r) }
func megabytes(mb float64) string         { return fmt.Sprintf("%.1f MB", mb) }
func times(ratio float64) string          { return fmt.Sprintf("%.2f×", ratio) }

func printTable(w io.Writer, rows []row) {
	cells := [][]string{{"", "figure", "Picket", "floor", "ratio", "target", ""}}
	for _, r := range rows {
		cells = append(cells, []string{r.id, r.figure, r.picket, r.floor, r.ratio, r.target, r.verdict()})
	}
	printCells(w, cells)
}

// printCells prints Markdown whose columns are aligned. The first line is the head.
func printCells(w io.Writer, cells [][]string) {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for n, line := range cells {
		for i, cell := range line {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
		if n > 0 {
			continue
		}
		for _, width := range widths {
			fmt.Fprint(w, "|", strings.Repeat("-", width+2))
		}
		fmt.Fprintln(w, "|")
	}
}

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
