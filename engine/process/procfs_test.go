// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import (
	"slices"
	"strings"
	"testing"
)

func TestParseProcStatTakesAnyCommandName(t *testing.T) {
	t.Parallel()
	rest := slices.Concat([]string{"S"}, slices.Repeat([]string{"7"}, 18), []string{"4711", "8"})
	for _, comm := range []string{"sleep", "a b", ")", "a) Z 1 (b", "((", "x) S 1 2 3", "\n"} {
		for state, ends := range map[string]bool{"S": false, "R": false, "T": false, "Z": true, "X": true} {
			rest[0] = state
			got, err := parseProcStat([]byte("12 (" + comm + ") " + strings.Join(rest, " ") + "\n"))
			if err != nil || got != (procStat{start: 4711, ended: ends}) {
				t.Errorf("%q %s: %+v, %v", comm, state, got, err)
			}
		}
	}
	for _, bad := range []string{"", "12", "12 (a) S 1", "12 (a) " + strings.Repeat("x ", 20)} {
		if _, err := parseProcStat([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseProcStatus(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]procStatus{
		"Name:\tx\nTgid:\t12\nPid:\t13\nUid:\t1000\t0\t0\t0\nNSpid:\t13\t2\n": {pid: 12, uid: 0, nsPid: 2},
		"pos:\t0\nPid:\t12\nNSpid:\t12\n":                                     {pid: 12, nsPid: 1},
		"Pid:\t-1\nNSpid:\t-1\n":                                              {pid: -1, nsPid: 1},
		"Pid:\t0\n":                                                           {pid: 0},
		"Tgid:\t5\nUid:\t0\t4294967294\t0\t0\n":                               {pid: 5, uid: 4294967294},
	} {
		if got, err := parseProcStatus([]byte(in)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "Pid:\n", "Pid:\tx\n", "Pid:\t1\nUid:\t1\t-1\n", "Uid:\t1\t1\n"} {
		if _, err := parseProcStatus([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
