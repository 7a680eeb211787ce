// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var incarnationScript = newScript("incarnation")

// keysMost bounds the search for a key on each master. A Cluster has 16,384 slots; one of them is missed by so many keys with a
// probability of 2 %, and then a master that has no other is not watched.
const keysMost = 1 << 16

// Master is a server that takes writes.
type Master struct {
	Addr   string // empty when there is only one
	client redis.Cmdable
}

// Time is what its clock says.
func (m Master) Time(ctx context.Context) (time.Time, error) { return m.client.Time(ctx).Result() }

// Stands is how much of its maxmemory it uses, without one of its host's memory, from 0 to 1 and above, and which run of the server it
// is, and since which promotion: one that was a replica meanwhile may have an older state. 0 and empty when that cannot be known.
func (m Master) Stands(ctx context.Context) (full float64, run string) {
	info, err := m.client.Info(ctx).Result()
	if err != nil {
		return 0, ""
	}
	if run = infoField(info, "run_id"); run != "" {
		run += " " + infoField(info, "master_replid")
	}
	used, most := number(infoField(info, "used_memory")), number(infoField(info, "maxmemory"))
	if most == 0 {
		most = number(infoField(info, "total_system_memory"))
	}
	if most == 0 {
		return 0, run
	}
	return float64(used) / float64(most), run
}

// infoField is a field of what INFO answered, or empty.
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Masters are those of a Cluster by address, or the one that there is. Errors: Redis' own.
func (s *Store) Masters(ctx context.Context) ([]Master, error) {
	cluster, ok := s.c.Redis.(*redis.ClusterClient)
	if !ok {
		return []Master{{"", s.c.Redis}}, nil
	}
	var mu sync.Mutex
	var all []Master
	err := cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, Master{c.Options().Addr, c})
		return nil
	})
	slices.SortFunc(all, func(a, b Master) int { return cmp.Compare(a.Addr, b.Addr) })
	return all, err
}

// IncarnationKeys names one key for each master: the first that lands there. All daemons find the same.
func (s *Store) IncarnationKeys(ctx context.Context, masters []Master) ([]string, error) {
	cluster, ok := s.c.Redis.(*redis.ClusterClient)
	if !ok {
		return []string{s.Keys.Incarnation(0)}, nil
	}
	missing := map[string]bool{}
	for _, m := range masters {
		missing[m.Addr] = true
	}
	var keys []string
	for n := 0; n < keysMost && len(missing) > 0; n++ {
		node, err := cluster.MasterForKey(ctx, s.Keys.Incarnation(n))
		if err != nil {
			return nil, err
		}
		if addr := node.Options().Addr; missing[addr] {
			delete(missing, addr)
			keys = append(keys, s.Keys.Incarnation(n))
		}
	}
	return keys, nil
}

// MakeIncarnation makes an incarnation unless it is there, and answers what it is. It is a write that changes nothing where it is there.
// Errors: a *LayoutError, and Redis' own.
func (s *Store) MakeIncarnation(ctx context.Context, key, fresh string) (string, error) {
	v, err := incarnationScript.Run(ctx, s.c.Redis, []string{key}, fresh, Layout).StringSlice()
	if err != nil {
		return "", err
	}
	return v[0], ofLayout(key, v[1])
}

// Incarnations reads what stands under these keys: empty where there is none. A key that was not answered is missing. Errors: a
// *LayoutError, before all others, and Redis' own.
func (s *Store) Incarnations(ctx context.Context, keys []string) (map[string]string, error) {
	answers, errs := make([][]any, len(keys)), make([]error, len(keys))
	var wait sync.WaitGroup // a master that is away takes no time from the others
	for i, key := range keys {
		wait.Go(func() { answers[i], errs[i] = s.c.Redis.HMGet(ctx, key, "incarnation", "layout").Result() })
	}
	wait.Wait()
	found := map[string]string{}
	for i, key := range keys {
		text := textsOf(answers[i])
		switch {
		case redis.HasErrorPrefix(errs[i], "WRONGTYPE"):
			return nil, ofLayout(key, "")
		case errs[i] != nil:
		case text[0] != "" && ofLayout(key, text[1]) != nil:
			return nil, ofLayout(key, text[1])
		default:
			found[key] = text[0]
		}
	}
	return found, errors.Join(errs...)
}

func ofLayout(key, number string) error {
	if number == Layout {
		return nil
	}
	return &LayoutError{key, number}
}
