// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"testing"

	"github.com/picketd/picket/proof/models/explore"
)

// TestTheDesignHoldsAndEachMutationIsCaught with one fault on a path of the designs; make models has more.
func TestTheDesignHoldsAndEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for _, wrong := range explore.Wrong(models(1)) {
		t.Error(wrong)
	}
}
