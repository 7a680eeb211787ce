// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"strconv"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/store"
)

func TestTokensForgetTheOldest(t *testing.T) {
	t.Parallel()
	var known tokens
	long := strings.Repeat("a", 200)
	for i := range 3 * tokensKept / (len(long) + entrySize) {
		known.found(store.Asset(long+strconv.Itoa(i)), 0, 7)
		known.found("busy", 7, int64(8+i))
	}
	if bytes := (len(known.young) + len(known.old)) * len(long); bytes > 2*tokensKept || bytes < tokensKept/2 {
		t.Errorf("%d bytes are remembered", bytes)
	}
	if !known.found("busy", known.of("busy"), 1) || known.of("busy") != 1 {
		t.Error("a token that went back was not noticed")
	}
	if known.found("busy", 9, 1) {
		t.Error("an answer that was asked for before the newest was known counts as going back")
	}
}
