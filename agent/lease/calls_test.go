// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lease

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// TestRefusalsThatPass: an asset waits for what passes by itself, and fails by what does not.
func TestRefusalsThatPass(t *testing.T) {
	t.Parallel()
	for code, passes := range map[client.Code]bool{
		client.StoreUnavailable: true, client.ReplicasMissing: true, client.OutboxUnavailable: true, client.Draining: true, client.Internal: true,
		client.TooManyClaims: true, client.TooManyCalls: true,
		client.Invalid: false, client.Forbidden: false, client.ClaimLost: false, client.IllegalTransition: false,
	} {
		if got := Transient(fmt.Errorf("cannot claim: %w", &client.Problem{Code: code})); got != passes {
			t.Errorf("%s: passes is %t", code, got)
		}
	}
}
