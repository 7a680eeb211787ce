// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"testing"

	"github.com/picketd/picket/engine/redistest"
)

// TestAHintThatWasPutAgainStays: what was read of it is older than why it was put again.
func TestAHintThatWasPutAgainStays(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	if err := s.AddHint(t.Context(), "d", ID("a", "t")); err != nil {
		t.Fatal(err)
	}
	hints, err := s.Hints(t.Context(), "d", HintShard("a"), 0, 10)
	if err != nil || len(hints) != 1 {
		t.Fatal(hints, err)
	}
	for _, dropped := range []struct {
		older int64
		left  int64
	}{{1, 1}, {0, 0}} {
		hint := hints[0]
		hint.Score -= dropped.older
		if err := s.DropHint(t.Context(), "d", hint); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Hinted(t.Context(), "d"); err != nil || n != dropped.left {
			t.Errorf("%d hints are left, %v", n, err)
		}
	}
}
