// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"testing"

	"github.com/picketd/picket/proof/models/explore"
)

func TestTheDesignHoldsAndEachMutationIsCaught(t *testing.T) {
	t.Parallel()
	for _, wrong := range explore.Wrong(variants) {
		t.Error(wrong)
	}
}
