// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the API's. Labels are those of the table and of codes.go, never of a request's making.
type metrics struct {
	requests *prometheus.CounterVec
	refusals *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	auto := promauto.With(r)
	m := &metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_http_requests_total",
			Help: "Calls on the socket, by route, method and HTTP status; 499 when the caller left first.",
		}, []string{"route", "method", "code"}),
		refusals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "picket_refusals_total",
			Help: "Calls that were answered with a problem, by its code.",
		}, []string{"code"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "picket_http_request_seconds",
			Help:    "How long calls took, waiting included, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30, 120, 600},
		}, []string{"route"}),
	}
	return m
}

func (m *metrics) observe(route, method string, code int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(code)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
