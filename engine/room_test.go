// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestHowFullRedisIsIsMeasured: against its bound, or its host's memory when it has none.
func TestHowFullRedisIsIsMeasured(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.frozen("one")
	look(t, e)
	if full := testutil.ToFloat64(e.metrics.full); full <= 0 || full >= 0.5 {
		t.Errorf("without a bound it is %v full", full)
	}
	raw := server.Client()
	if err := raw.Set(t.Context(), "filling", strings.Repeat("x", 20<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := raw.ConfigSet(t.Context(), "maxmemory", "24mb").Err(); err != nil {
		t.Fatal(err)
	}
	look(t, e)
	if full := testutil.ToFloat64(e.metrics.full); full < 0.8 {
		t.Errorf("it is %v full", full)
	}
}
