// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"testing"
	"time"

	"github.com/picketd/picket/engine/store"
)

func TestTokensForgetTheOldest(t *testing.T) {
	t.Parallel()
	var known tokens
	for i := range 3 * tokensKept {
		known.found(store.Asset("a"+string(rune('0'+i%10))+time.Duration(i).String()), 0, 7)
		known.found("busy", 7, int64(8+i))
	}
	if n := len(known.young) + len(known.old); n > 2*tokensKept {
		t.Errorf("%d are remembered", n)
	}
	if !known.found("busy", known.of("busy"), 1) || known.of("busy") != 1 {
		t.Error("a token that went back was not noticed")
	}
	if known.found("busy", 9, 1) {
		t.Error("an answer that was asked for before the newest was known counts as going back")
	}
}
