// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// alarmed are the names of what is raised.
func alarmed(e *Engine) []string {
	names := []string{}
	for _, a := range e.Alarms() {
		names = append(names, a.Name)
	}
	return names
}

func wantAlarms(t *testing.T, e *Engine, want ...string) {
	t.Helper()
	if got := alarmed(e); !slices.Equal(got, want) {
		t.Fatalf("the alarms are %q, want %q: %+v", got, want, e.Alarms())
	}
}

func look(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.lookout.look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAStoreThatWasLostWhileNoDaemonRanIsAnAlarm: a host that boots starts both anew.
// TestF13_LocksThatAllRunOutAtOnceLetNobodyWriteTwice: what a step of Redis' clock does to them.
// tokenBackIsAnAlarm writes an older grant, as a failover brings it.
// TestF12_ARedisThatFallsBackIsAnAlarm: the server comes back with what it had on disk, which is older than the claim.
// TestTokensForgetTheOldest: two generations, so that memory is bounded.
// TestF13_ASlowAnswerIsNoDrift: what a round trip leaves open is not held against the clocks.
// TestF13_AClockStepIsTold needs a Redis whose clock can be set.
// logged is what was logged.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
