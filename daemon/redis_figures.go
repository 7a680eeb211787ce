// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

// redisFigures adds what the masters say of themselves, each asked once. One that does not say, because INFO is forbidden or it is away,
// keeps no other from saying.
func redisFigures(ctx context.Context, rdb redis.UniversalClient, s *client.RedisStatus) {
	var mu sync.Mutex
	limitless := false
	_, _ = eachMaster(ctx, rdb, func(ctx context.Context, c *redis.Client) (string, error) {
		info, err := c.InfoMap(ctx).Result()
		if err != nil {
			return "", nil //nolint:nilerr // see above
		}
		mu.Lock()
		defer mu.Unlock()
		figure := func(section, name string) int64 {
			n, _ := strconv.ParseInt(info[section][name], 10, 64) // what is no number is not known
			return n
		}
		if version := info["Server"]["redis_version"]; version != "" && !slices.Contains(s.Versions, version) {
			s.Versions = append(s.Versions, version)
		}
		limit := figure("Memory", "maxmemory")
		limitless = limitless || limit == 0
		s.Masters++
		s.Replicas += figure("Replication", "connected_slaves")
		s.MemoryBytes += figure("Memory", "used_memory")
		s.MemoryLimit += limit
		return "", nil
	})
	slices.Sort(s.Versions)
	if limitless {
		s.MemoryLimit = 0
	}
}
