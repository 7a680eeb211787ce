// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"strings"
)

// lookAtRoom measures how full Redis is: the master that is fullest counts. One that forbids INFO, or has no bound and does not know
// its host's memory, is not measured.
func (l *lookout) lookAtRoom(ctx context.Context, masters []master) {
	fullest := 0.0
	for _, m := range masters {
		info, err := m.client.Info(ctx, "memory").Result()
		if err != nil {
			continue
		}
		used, most := infoNumber(info, "used_memory"), infoNumber(info, "maxmemory")
		if most == 0 {
			most = infoNumber(info, "total_system_memory")
		}
		if most > 0 {
			fullest = max(fullest, float64(used)/float64(most))
		}
	}
	l.metrics.full.Set(fullest)
}

// infoNumber is a field of what INFO answered, or 0.
func infoNumber(info, field string) int64 {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return number(strings.TrimSpace(value))
		}
	}
	return 0
}
