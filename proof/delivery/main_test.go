// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "testing"

// TestTheDesignHolds runs the design with one fault on a path; make models runs it with more.
func TestTheDesignHolds(t *testing.T) {
	t.Parallel()
	for _, r := range designs {
		r.most = 1
		if res := r.explore(); len(res.kinds) > 0 {
			t.Errorf("%s: found %q", r.name, res.path)
		}
	}
}

func TestEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for _, r := range mutations {
		if res := r.explore(); len(res.kinds) == 0 {
			t.Errorf("%s: nothing is found in %d states", r.name, res.states)
		}
	}
}
