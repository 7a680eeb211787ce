// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var (
	alice = party{account: 1000}
	bob   = party{account: 1001}
	root  = party{account: 0, trusted: true}
)

// TestBudget: a user waits for what it holds itself, not for what others hold as long as it holds little; root has a share of its
// own; and whoever waits in vain is refused.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 8, 2)
		take := func(p party, n int64) error { return b.take(t.Context(), p, n) }
		must(t, take(alice, 8))
		must(t, take(root, 10))
		must(t, take(bob, 2))
		start := time.Now()
		for _, p := range []party{alice, bob, root} {
			if err := take(p, 1); !errors.Is(err, errTooManyCalls) {
				t.Errorf("%+v got more than its share: %v", p, err)
			}
		}
		if waited := time.Since(start); waited != 3*patience {
			t.Errorf("three calls were refused after %s", waited)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.take(gone, bob, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("whose caller left: %v", err)
		}
		got := make(chan error, 2)
		go func() { got <- take(bob, 8) }()
		synctest.Wait()
		go func() { got <- take(bob, 1) }() // behind the first, though it would fit
		synctest.Wait()
		b.give(alice, 8)
		synctest.Wait()
		if len(got) != 0 {
			t.Error("a user got more than its share, or one overtook another")
		}
		b.give(bob, 2)
		must(t, <-got)
		if err := <-got; !errors.Is(err, errTooManyCalls) {
			t.Error(err)
		}
		b.give(bob, 8)
		b.give(root, 10)
		if b.used != 0 || len(b.shares) != 0 {
			t.Errorf("nobody holds anything, but %d are counted, of %v", b.used, b.shares)
		}
	})
}

// TestPace: a second's worth of calls comes at once, further ones are held up, and root's are not.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pacer{perSecond: 10, next: map[party]time.Time{}}
		start := time.Now()
		for range 30 {
			must(t, p.wait(t.Context(), alice))
			must(t, p.wait(t.Context(), root))
		}
		if took := time.Since(start); took < 1900*time.Millisecond || took > 2*time.Second {
			t.Errorf("30 calls took %s, want 2 s", took)
		}
		must(t, p.wait(t.Context(), bob))
		refused := 0
		for range 200 {
			if d := p.delay(alice, time.Now()); d > patience {
				refused++
			}
		}
		if refused < 100 {
			t.Errorf("%d of 200 calls at once are refused", refused)
		}
	})
}
