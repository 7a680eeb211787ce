// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package supervise

import "testing"

// FuzzStat: whatever name a process gave itself, its state is read or it counts as gone.
func FuzzStat(f *testing.F) {
	f.Add([]byte("7 (a) (b) S 1 7 7 0 -1"))
	f.Add([]byte("7 )( S"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseStat(7, b); ok && s.pid != 7 {
			t.Fatalf("%q is read as %+v", b, s)
		}
	})
}
