// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the engine's own. None has an asset as a label.
type metrics struct {
	held     prometheus.Gauge
	waiting  prometheus.Gauge
	claims   *prometheus.CounterVec // result: granted held terminal refused
	ended    *prometheus.CounterVec // reason
	renewals *prometheus.CounterVec // result: ok failed taken
	reports  *reportFigures
}

func newMetrics(r prometheus.Registerer) *metrics {
	auto := promauto.With(r)
	m := &metrics{
		held:    auto.NewGauge(prometheus.GaugeOpts{Name: "picket_claims_held", Help: "Claims that are held."}),
		waiting: auto.NewGauge(prometheus.GaugeOpts{Name: "picket_claims_waiting", Help: "Claim calls that wait for a held asset."}),
		claims: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_claims_total", Help: "Claim calls by result.",
		}, []string{"result"}),
		ended: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_claims_ended_total", Help: "Claims that ended, by reason.",
		}, []string{"reason"}),
		renewals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_renewals_total", Help: "Renewals of locks by result.",
		}, []string{"result"}),
		reports: newReportFigures(r),
	}
	m.begin()
	return m
}

// begin has every counter there from the start, at 0: Prometheus sees no increase from nothing to 1.
func (m *metrics) begin() {
	for of, values := range map[*prometheus.CounterVec][]string{
		m.claims:   {"granted", "held", "terminal", "refused"},
		m.renewals: {"ok", "failed", "taken"},
	} {
		for _, value := range values {
			of.WithLabelValues(value)
		}
	}
	for _, reason := range []Reason{
		ReasonReleased, ReasonProcessExit, ReasonExpired, ReasonTaken, ReasonSilent, ReasonMaxHold, ReasonStoreReset, ReasonForced,
	} {
		m.ended.WithLabelValues(string(reason))
	}
}
