// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

func TestItKnowsItsFormerRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	var want []string
	for i := range mostRuns + 3 {
		s := open(t, path, Options{})
		run := fmt.Sprint("run-", i)
		for range 2 {
			if former, err := s.Enlist(run); err != nil || !slices.Equal(former, want) {
				t.Fatalf("%s is told of %v, %v, want %v", run, former, err, want)
			}
		}
		want = append(want, run)
		want = want[max(0, len(want)-mostRuns):]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
