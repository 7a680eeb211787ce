// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"slices"
	"strings"
)

// mostRuns are remembered. Redis brings back the sign of life of a run only as long as one lives, and few start in that time.
const mostRuns = 32

var runsKey = []byte("runs")

// Enlist notes that a run of the daemon has this outbox, and returns those that had it before, the newest last, at most mostRuns.
func (s *Store) Enlist(run string) (former []string, err error) {
	err = s.write(false, func(t *tx) error {
		known, err := t.get(metaBucket, runsKey)
		if err != nil {
			s.log.Warn("the former runs of this outbox are not known any more", "error", err)
		}
		all := strings.Fields(string(known))
		former = slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == run })
		former = former[max(0, len(former)-mostRuns):]
		if !slices.Contains(all, run) {
			t.put(metaBucket, runsKey, []byte(strings.Join(append(slices.Clone(former), run), " ")))
		}
		return nil
	})
	return former, err
}
