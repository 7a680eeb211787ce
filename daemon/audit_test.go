// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/picketd/picket/audit"
)

func TestEveryKindOfRecordHasAMeaning(t *testing.T) {
	t.Parallel()
	kinds, err := os.ReadFile("../audit/kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]audit.Kind{}
	for _, found := range regexp.MustCompile(`(?m)^\t\w+ +Kind = "(\w+)"`).FindAllStringSubmatch(string(kinds), -1) {
		kind := audit.Kind(found[1])
		m, ok := auditKinds[kind]
		if !ok || m.says == "" || len(m.id) != 32 || strings.Trim(m.id, "0123456789abcdef") != "" {
			t.Errorf("kind %s has no right meaning: %+v", kind, m)
		}
		if other, twice := ids[m.id]; twice {
			t.Errorf("%s and %s have the same id", kind, other)
		}
		ids[m.id] = kind
	}
	if len(ids) != len(auditKinds) {
		t.Errorf("there are %d meanings for %d kinds", len(auditKinds), len(ids))
	}
}

// TestF27_AJournalThatTakesNothingHoldsUpNobody: locks are renewed, calls are answered and notifications go out while it takes
// nothing; what it missed is counted, and told when it takes something again.
func TestF27_AJournalThatTakesNothingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	h := setup(t, func(c *Config) {
		c.Lock.TTL = Duration(4 * time.Second)
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
		for range auditQueue / 8 {
			h.Daemon.audit.record(audit.Event{Kind: audit.Replayed})
		}
	}
	if n := h.metric(t, "picket_audit_queue"); n != auditQueue {
		t.Errorf("%v records wait, want %d", n, auditQueue)
	}
	accepted(t, h.client, mustRisk(t, h.client), "first", false)
	notified(t, h.client, theAsset)
	time.Sleep(6 * time.Second) // the lock lives for four
	if c, err := h.client.GetClaim(t.Context(), held.Claim.ID); err != nil || c.Status != "held" {
		t.Errorf("the claim is %s, %v", c.Status, err)
	}
	h.audit.shut.Unlock()
	shut = false
	h.stop(t)
	records := recordsIn(t, h.audit.String())
	dropped := wantNumbered(t, records)
	if n := testutil.ToFloat64(h.Daemon.audit.drops); len(dropped) == 0 || n != float64(len(dropped)) {
		t.Errorf("%v drops are counted, %d are told", n, len(dropped))
	}
	if n := testutil.ToFloat64(h.Daemon.audit.records); n != float64(len(records)+len(dropped)) {
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

// queueOf is an audit with a short queue.
func queueOf(t *testing.T, sink auditSink) *recorder {
	t.Helper()
	return newRecorder("run", "host-a", sink, 8, slog.New(slog.NewTextHandler(io.Discard, nil)), prometheus.NewRegistry())
}

func TestAJournalThatIsStoppedDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	a := queueOf(t, journalSink{func(string, journal.Priority, map[string]string) error { <-released; return nil }})
	a.start()
	a.record(audit.Event{Kind: audit.Finished})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.stop(ctx); err == nil {
		t.Error("it stopped as if all were written")
	}
	close(released)
	if err := a.stop(t.Context()); err != nil { // again, and now it can
		t.Error(err)
	}
}

func TestRecordsThatTheJournalRefusesAreToldLater(t *testing.T) {
	t.Parallel()
	out := &lines{}
	good, calls := &lineSink{out: out}, 0
	a := queueOf(t, sinkFunc(func(r *auditRecord) error {
		if calls++; calls == 2 || calls == 3 {
			return errors.New("no journal")
		}
		return errors.Join(good.send(r), good.flush())
	}))
	a.start()
	for range 4 {
		a.record(audit.Event{Kind: audit.Finished})
	}
	if err := a.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dropped := wantNumbered(t, recordsIn(t, out.String())); fmt.Sprint(dropped) != "[2 3]" {
		t.Errorf("told as dropped are %v\n%s", dropped, out)
	}
}

type sinkFunc func(*auditRecord) error

func (f sinkFunc) send(r *auditRecord) error { return f(r) }
func (f sinkFunc) flush() error              { return nil }

// A line that could not be written whole is finished when it can be.
func TestLinesOutliveAWriteThatFails(t *testing.T) {
	t.Parallel()
	out := &shortWriter{fail: true}
	s := &lineSink{out: out}
	r := &auditRecord{Event: audit.Event{Kind: audit.Step}, run: "r", seq: 1, at: time.Now()}
	if err := s.send(r); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(); err == nil {
		t.Error("the failure was not told")
	}
	out.fail = false
	r.seq = 2
	if err := errors.Join(s.send(r), s.flush()); err != nil {
		t.Fatal(err)
	}
	wantNumbered(t, recordsIn(t, out.String()))
}

// shortWriter writes a part only while it fails.
type shortWriter struct {
	lines
	fail bool
}

func (w *shortWriter) Write(p []byte) (int, error) {
	if w.fail {
		n, _ := w.lines.Write(p[:len(p)/2])
		return n, errors.New("no space")
	}
	return w.lines.Write(p)
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

// TestALineIsWhatTheRecordSays, whatever stands in it.
func TestALineIsWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"plain", `"\`, "a\nb\x00\x1b", "böse \u202e <b>&", "\u2028", "\xff"} {
		out := &lines{}
		s := &lineSink{out: out}
		r := &auditRecord{
			Event: audit.Event{Kind: audit.Step, Asset: odd, Task: "t", Step: odd}, seq: 7,
		}
		if err := errors.Join(s.send(r), s.flush()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"PICKET_ASSET": strings.ToValidUTF8(odd, "\ufffd"), "PICKET_SEQ": "7", "PRIORITY": "6", "PICKET_FROM": "",
			"MESSAGE": strings.ToValidUTF8(fmt.Sprintf("%s/t: step %s is recorded, ? → ?", odd, odd), "\ufffd"),
		}
		if got := recordsIn(t, out.String()); len(got) != 1 || !has(got[0], want) {
			t.Errorf("%q became %q", odd, out)
		}
	}
}
