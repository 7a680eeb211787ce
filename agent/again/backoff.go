// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package again

import (
	"math/rand/v2"
	"time"
)

// Backoff is the pause after try number n (from 1): first, doubled with each try up to most, of which the second half is left to
// chance.
func Backoff(n int, first, most time.Duration) time.Duration {
	d := first
	for ; n > 1 && d < most; n-- {
		d *= 2
	}
	d = min(d, most)
	return d/2 + rand.N(d/2+1)
}
