// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/picketd/picket/engine/store"
)

// TestTheMetricsOfAReport: they are those of the last one, and of so many lists at most.
func TestTheMetricsOfAReport(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	f, _ := setup(t)
	e := f.host("host-a", func(c *Config) { c.Registry = registry })
	gather := func(task, facts string) {
		t.Helper()
		c := claimedIn(t, e, store.ListReport, "list:nightly", task)
		for range 2 { // the answer to the first was lost
			if _, err := step(t, e, c, "gather", store.Gathered, facts); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
			t.Fatal(err)
		}
	}
	values := func() (values [3]float64) {
		for i, outcome := range []string{"scanned", "failed", "high_risk"} {
			values[i] = testutil.ToFloat64(e.metrics.reports.assets.WithLabelValues("nightly", outcome))
		}
		return values
	}
	gather("n1", `{"report": {"scanned": 6, "counts": {"assets": 9, "failed": 2, "not_scanned": 1, "high_risk": 3}}}`)
	if got := values(); got != [3]float64{6, 2, 3} || testutil.CollectAndCount(e.metrics.reports.whole) != 0 {
		t.Errorf("it has %v", got)
	}
	gather("offline", `{"report": {"scanned": 0, "counts": {"assets": 9, "unreached": 9}}}`)
	if got := values(); got != [3]float64{} || testutil.CollectAndCount(e.metrics.reports.whole) != 0 {
		t.Errorf("of a night in which nothing answered it has %v", got)
	}
	gather("n2", `{"report": {"scanned": 9, "counts": {"assets": 9}}}`)
	if got := values(); got != [3]float64{9, 0, 0} || testutil.ToFloat64(e.metrics.reports.whole.WithLabelValues("nightly")) == 0 {
		t.Errorf("it has %v", got)
	}
	gather("n3", `{"of": "another agent"}`)
	for i := range 2 * mostLists {
		e.metrics.reports.gathered(store.Asset(fmt.Sprint("list:", i)), json.RawMessage(`{}`))
	}
	if n := testutil.CollectAndCount(e.metrics.reports.made); n != mostLists {
		t.Errorf("%d lists have figures", n)
	}
}
