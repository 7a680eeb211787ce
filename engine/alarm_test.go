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
