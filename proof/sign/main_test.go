// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "testing"

func TestTheDesignHoldsAndEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for i, v := range variants {
		if _, found := v.rules.explore(); (i > 0) != (len(found) > 0) {
			t.Errorf("%s: found %v", v.name, found)
		}
	}
}
