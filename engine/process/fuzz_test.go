// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package process

import "testing"

// FuzzProc: whatever a process has made of its name, or a kernel of the rest, it is read or refused.
func FuzzProc(f *testing.F) {
	f.Add([]byte("7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 12345 1 1"))
	f.Add([]byte("Name:\tx\nTgid:\t7\nPid:\t8\nUid:\t1\t2\t3\t4\nNSpid:\t7\t1\n"))
	f.Add([]byte("pos:\t0\nPid:\t-1\nNSpid:\t-1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseProcStat(b); err != nil && s != (procStat{}) {
			t.Fatalf("%+v beside %v", s, err)
		}
		_, _ = parseProcStatus(b)
	})
}
