// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"
	"time"

	"github.com/picketd/picket/engine/store"
)

// TestCallsThatWaitedForARestartGetWhatIsLeft of their time: they were made while the earlier run stopped, and count from then.
func TestCallsThatWaitedForARestartGetWhatIsLeft(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("host-a")
	now := e.now()
	e.now = func() time.Duration { return now }
	if got := e.allowance(); got != store.CallTimeout {
		t.Errorf("before it is known when it serves: %s", got)
	}
	e.queued = now - 2*time.Second
	e.Serving()
	if got := e.allowance(); got != store.CallTimeout-2*time.Second {
		t.Errorf("at once: %s", got)
	}
	e.queued = now - time.Minute
	if got := e.allowance(); got != arrivalLeast {
		t.Errorf("after a long start: %s", got)
	}
	now += arrivals + time.Millisecond
	if got := e.allowance(); got != store.CallTimeout {
		t.Errorf("for those that come later: %s", got)
	}
}
