// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"testing"

	"github.com/picketd/picket/proof/models/explore"
)

// TestTheDesignHoldsAndEachMutationIsCaught with a claim of each in the designs; make models has more.
func TestTheDesignHoldsAndEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for _, wrong := range explore.Wrong(models(once)) {
		t.Error(wrong)
	}
}
