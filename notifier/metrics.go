// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/picketd/picket/outbox"
)

type metrics struct {
	results *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	open    *prometheus.GaugeVec
}

// newMetrics registers with r, which may be nil, and shows every channel from the start.
func newMetrics(r prometheus.Registerer, channels []string) *metrics {
	auto := promauto.With(r)
	m := &metrics{
		results: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_notifications_total",
			Help: "Attempts to notify by what became of them; pending is a known failure that is tried again.",
		}, []string{"channel", "result"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "picket_notification_seconds",
			Help:    "Time from the start of an attempt to its answer.",
			Buckets: []float64{.005, .02, .1, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"channel"}),
		open: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "picket_channel_breaker_open",
			Help: "Whether the channel's breaker is open (1): only a probe goes out every 10 s.",
		}, []string{"channel"}),
	}
	for _, name := range channels {
		for _, s := range []outbox.Status{outbox.Sent, outbox.Pending, outbox.Unknown, outbox.Dead, outbox.Parked} {
			m.results.WithLabelValues(name, string(s))
		}
		m.seconds.WithLabelValues(name)
		m.open.WithLabelValues(name)
	}
	return m
}

func (m *metrics) breaker(channel string, open bool) {
	v := 0.0
	if open {
		v = 1
	}
	m.open.WithLabelValues(channel).Set(v)
}
