// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestG8_AStartDoesNotWaitForClaimsThatHang: it waits as long as claims are taken up, and adoptLimit beyond that, so that a stop, the
// settings and this are no more than 5 s.
func TestG8_AStartDoesNotWaitForClaimsThatHang(t *testing.T) {
	t.Parallel()
	if sum := stopLimit + settingsLimit + adoptLimit; sum > 5*time.Second {
		t.Errorf("a restart may take %s", sum)
	}
	synctest.Test(t, func(t *testing.T) {
		begun, extended := time.Now(), 0
		left := func() int { return max(100-int(time.Since(begun)/(100*time.Millisecond)), 70) } // the last is taken up after 3 s
		if err := awaitClaims(t.Context(), nil, left, func() { extended++ }); err != nil {
			t.Fatal(err)
		}
		if took, want := time.Since(begun), 3*time.Second+adoptLimit; took != want || extended != 30 {
			t.Errorf("it took %s, and more time was asked for %d times; want %s and 30", took, extended, want)
		}
		if err := awaitClaims(t.Context(), closed(), left, nil); err != nil || time.Since(begun) != 3*time.Second+adoptLimit {
			t.Errorf("all were taken up, and it waited until %s, %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errSignal)
		if err := awaitClaims(ctx, nil, left, nil); !errors.Is(err, errSignal) {
			t.Errorf("told to stop, it says %v", err)
		}
	})
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
