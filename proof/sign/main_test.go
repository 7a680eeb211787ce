// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "testing"

func TestTheDesignHoldsAndEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		if _, found := v.design.explore(); v.holds == (len(found) > 0) {
			t.Errorf("%s: found %v", v.name, found)
		}
	}
}
