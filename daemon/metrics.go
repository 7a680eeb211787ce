// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/picketd/picket/outbox"
)

// newRegistry holds the metrics of the process; engine, notifier and socket API add theirs.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	v := Version()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "picket_build_info",
		Help:        "1, with what was built as labels.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "goversion": v.GoVersion},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// registerOutbox adds the outbox' depth and age.
func registerOutbox(r prometheus.Registerer, store *outbox.Store) {
	gauge := func(name, help string, value func(outbox.Stats) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(store.Stats()) }))
	}
	gauge("picket_outbox_staged", "Intents whose NOTIFYING write is not confirmed yet.", func(s outbox.Stats) float64 { return float64(s.Staged) })
	gauge("picket_outbox_ready", "Intents that may be sent and are not settled on every channel.", func(s outbox.Stats) float64 { return float64(s.Ready) })
	gauge("picket_outbox_oldest_age_seconds", "Age of the oldest of the ready intents, 0 when there is none.", func(s outbox.Stats) float64 { return oldestAge(s).Seconds() })
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "picket_outbox_damaged_total",
		Help: "Intents that were taken out of the outbox file because a record did not match its checksum.",
	}, func() float64 { return float64(store.Damaged()) }))
}

func oldestAge(s outbox.Stats) time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return max(0, time.Since(s.Oldest))
}
