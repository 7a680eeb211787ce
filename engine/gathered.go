// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"encoding/json"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/picketd/picket/engine/store"
)

// mostLists is how many lists have metrics of their own, the first that are reported.
const mostLists = 100

// reportFigures are the figures of the reports that were gathered with this daemon, by the name of the list. Those of the last one stand.
type reportFigures struct {
	assets *prometheus.GaugeVec // list; outcome: scanned failed not_scanned unreached high_risk
	made   *prometheus.GaugeVec // list
	whole  *prometheus.GaugeVec // list

	mu    sync.Mutex // guards lists
	lists map[string]bool
}

func newReportFigures(r prometheus.Registerer) *reportFigures {
	auto := promauto.With(r)
	return &reportFigures{
		assets: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "picket_report_assets", Help: "Assets in the last report of a list that was gathered with this daemon, by outcome.",
		}, []string{"list", "outcome"}),
		made: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "picket_report_timestamp_seconds", Help: "When the last report of a list was gathered with this daemon.",
		}, []string{"list"}),
		whole: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "picket_report_whole_timestamp_seconds", Help: "When the last report of a list was gathered with this daemon in which something was scanned, and nothing failed or was left out.",
		}, []string{"list"}),
		lists: map[string]bool{},
	}
}

// gathered notes what was recorded of a report. Facts of another form than picket run's tell only that it was gathered.
func (m *reportFigures) gathered(report store.Asset, facts json.RawMessage) {
	list := report.ReportName()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.lists[list] && len(m.lists) == mostLists {
		return
	}
	m.lists[list] = true
	m.made.WithLabelValues(list).SetToCurrentTime()
	var said struct {
		Report struct {
			Scanned int `json:"scanned"` // whose findings are known
			Counts  *struct {
				Failed     int `json:"failed"`
				NotScanned int `json:"not_scanned"` // with those that are in the list no more
				Unreached  int `json:"unreached"`
				HighRisk   int `json:"high_risk"`
			} `json:"counts"`
		} `json:"report"`
	}
	if err := json.Unmarshal(facts, &said); err != nil || said.Report.Counts == nil {
		return
	}
	c := said.Report.Counts
	for outcome, n := range map[string]int{
		"scanned": said.Report.Scanned, "failed": c.Failed, "not_scanned": c.NotScanned, "unreached": c.Unreached, "high_risk": c.HighRisk,
	} {
		m.assets.WithLabelValues(list, outcome).Set(float64(n))
	}
	if said.Report.Scanned > 0 && c.Failed+c.NotScanned == 0 {
		m.whole.WithLabelValues(list).SetToCurrentTime()
	}
}
