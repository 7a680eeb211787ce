// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/picketd/picket/audit"
)

// TestF27_AJournalThatTakesNothingHoldsUpNobody: locks are renewed, calls are answered and notifications go out while it takes
// nothing; what it missed is counted, and told when it takes something again.
func TestF27_AJournalThatTakesNothingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	h := setup(t, func(c *Config) {
		c.Lock.TTL = Duration(12 * time.Second)
		deliverTo(c, r, ops)
	})
	h.start(t)
	held, err := h.claim(t, "held.example")
	if err != nil {
		t.Fatal(err)
	}
	h.audit.shut.Lock()
	shut := true
	defer func() {
		if shut {
			h.audit.shut.Unlock()
		}
	}()
	for h.metric(t, "picket_audit_dropped_total") == 0 {
		for range audit.Capacity / 8 {
			h.Daemon.audit.Record(audit.Event{Kind: audit.Replayed})
		}
	}
	if n := h.metric(t, "picket_audit_queue"); n != audit.Capacity {
		t.Errorf("%v records wait, want %d", n, audit.Capacity)
	}
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	notified(t, h.client, theAsset)
	time.Sleep(13 * time.Second) // the lock lives for twelve
	if c, err := h.client.GetClaim(t.Context(), held.Claim.ID); err != nil || c.Status != "held" {
		t.Errorf("the claim is %s, %v", c.Status, err)
	}
	h.audit.shut.Unlock()
	shut = false
	h.stop(t)
	records := recordsIn(t, h.audit.String())
	dropped := wantNumbered(t, records)
	if n := h.metric(t, "picket_audit_dropped_total"); len(dropped) == 0 || n != float64(len(dropped)) {
		t.Errorf("%v drops are counted, %d are told", n, len(dropped))
	}
	if n := h.metric(t, "picket_audit_records_total"); n != float64(len(records)+len(dropped)) {
		t.Errorf("%v records are counted, there are %d and %d are told to be missing", n, len(records), len(dropped))
	}
}

// metric reads one from the page of metrics.
func (h *host) metric(t *testing.T, name string) float64 {
	t.Helper()
	page := httptest.NewRecorder()
	promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	_, rest, ok := strings.Cut(page.Body.String(), "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		t.Fatalf("there is no metric %s: %v", name, err)
	}
	return n
}

// A start that fails leaves the record of its end too.
func TestTheAuditOfADaemonThatCannotStartHasItsEnd(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.StateDir = filepath.Join("/proc/self", "none") })
	if err := h.Start(); err == nil {
		t.Fatal("it started")
	}
	var kinds []string
	for _, r := range recordsIn(t, h.audit.String()) {
		kinds = append(kinds, r["PICKET_EVENT"])
	}
	if fmt.Sprint(kinds) != "[config_loaded stopped]" {
		t.Errorf("the records are %v", kinds)
	}
}
