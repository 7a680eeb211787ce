// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import "github.com/prometheus/client_golang/prometheus"

// metrics are the engine's own. None has an asset as a label.
type metrics struct {
	held     prometheus.Gauge
	waiting  prometheus.Gauge
	claims   *prometheus.CounterVec   // result: granted held terminal refused
	ended    *prometheus.CounterVec   // reason
	renewals *prometheus.CounterVec   // result: ok failed taken
	redis    *prometheus.HistogramVec // script
	resets   prometheus.Counter
	back     prometheus.Counter
	steps    *prometheus.CounterVec // clock: host redis
	offset   prometheus.Gauge
	full     prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		held:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "picket_claims_held", Help: "Claims that are held."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "picket_claims_waiting", Help: "Claim calls that wait for a held asset."}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_claims_total", Help: "Claim calls by result.",
		}, []string{"result"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_claims_ended_total", Help: "Claims that ended, by reason.",
		}, []string{"reason"}),
		renewals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_renewals_total", Help: "Renewals of locks by result.",
		}, []string{"result"}),
		redis: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "picket_redis_seconds", Help: "Time that Redis took for a script, retries included.",
			Buckets: []float64{.0001, .0002, .0005, .001, .002, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"script"}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "picket_store_resets_total", Help: "Times that Redis was found to have lost its data, or to have gone back to an older state.",
		}),
		back: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "picket_tokens_back_total", Help: "Grants that were found with an older token than before.",
		}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_clock_steps_total", Help: "Times that this host's clock, or Redis', was found to have been set.",
		}, []string{"clock"}),
		offset: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "picket_redis_clock_offset_seconds",
			Help: "Redis' clock ahead of this host's; in a Cluster, of the master that is furthest off.",
		}),
		full: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "picket_redis_full_ratio",
			Help: "How much of its maxmemory Redis uses, without one of its host's memory; in a Cluster, the master that is fullest. 0: not to be known.",
		}),
	}
	m.begin()
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.held, m.waiting, m.claims, m.ended, m.renewals, m.redis, m.resets, m.back, m.steps, m.offset, m.full} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// begin has every counter there from the start, at 0: Prometheus sees no increase from nothing to 1.
func (m *metrics) begin() {
	for of, values := range map[*prometheus.CounterVec][]string{
		m.claims:   {"granted", "held", "terminal", "refused"},
		m.renewals: {"ok", "failed", "taken"},
		m.steps:    {"host", "redis"},
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
