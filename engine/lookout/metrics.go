// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	resets prometheus.Counter
	back   prometheus.Counter
	steps  *prometheus.CounterVec // clock: host redis
	offset prometheus.Gauge
	full   prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	auto := promauto.With(r)
	m := &metrics{
		resets: auto.NewCounter(prometheus.CounterOpts{
			Name: "picket_store_resets_total", Help: "Times that Redis was found to have lost its data, or to have gone back to an older state.",
		}),
		back: auto.NewCounter(prometheus.CounterOpts{
			Name: "picket_tokens_back_total", Help: "Grants that were found with an older token than before.",
		}),
		steps: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_clock_steps_total", Help: "Times that this host's clock, or Redis', was found to have been set.",
		}, []string{"clock"}),
		offset: auto.NewGauge(prometheus.GaugeOpts{
			Name: "picket_redis_clock_offset_seconds",
			Help: "Redis' clock ahead of this host's; in a Cluster, of the master that is furthest off.",
		}),
		full: auto.NewGauge(prometheus.GaugeOpts{
			Name: "picket_redis_full_ratio",
			Help: "How much of its maxmemory Redis uses, without one of its host's memory; in a Cluster, the master that is fullest. 0: not to be known.",
		}),
	}
	for _, clock := range []string{"host", "redis"} { // Prometheus sees no increase from nothing to 1
		m.steps.WithLabelValues(clock)
	}
	return m
}
