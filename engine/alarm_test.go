// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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
	if err := e.lookout.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// metric is a metric's value, summed over its labels.
func metric(t *testing.T, e *Engine, name string) (sum float64) {
	t.Helper()
	families, err := e.config.Registry.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
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
