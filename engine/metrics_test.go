// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestCountersBeginAtZero: increase() sees no first event on a counter that was not there before it.
func TestCountersBeginAtZero(t *testing.T) {
	t.Parallel()
	model, err := os.ReadFile("model.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"picket_claims_total":   {"granted", "held", "refused", "terminal"},
		"picket_renewals_total": {"failed", "ok", "taken"},
	}
	for _, m := range regexp.MustCompile(`\sReason = "(\w+)"`).FindAllSubmatch(model, -1) {
		want["picket_claims_ended_total"] = append(want["picket_claims_ended_total"], string(m[1]))
	}
	slices.Sort(want["picket_claims_ended_total"])
	if len(want["picket_claims_ended_total"]) < 8 {
		t.Fatalf("model.go has the reasons %v", want["picket_claims_ended_total"])
	}

	registry := prometheus.NewRegistry()
	newMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				got[family.GetName()] = append(got[family.GetName()], label.GetValue())
			}
		}
	}
	for name, values := range want {
		if !slices.Equal(got[name], values) {
			t.Errorf("%s begins with %v, want %v", name, got[name], values)
		}
	}
}
