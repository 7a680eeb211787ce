// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/sockapi/client"
)

// factsLife is for how long what Redis said is told again, so that pages which look every 3 s do not each ask every master.
const factsLife = 5 * time.Second

// keptFacts is what Redis said last of how it is set up and how it does. Those who ask at once share one answer.
type keptFacts struct {
	mu sync.Mutex // guards what follows
	at time.Time  // zero: nothing is kept
	is client.RedisStatus
}

// get is what is kept, or what ask answers. Only what is whole is kept, so that a server which is away is asked by each who looks.
func (k *keptFacts) get(ask func() (is client.RedisStatus, whole bool)) client.RedisStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.at.IsZero() && time.Since(k.at) < factsLife {
		return k.is
	}
	is, whole := ask()
	k.is, k.at = is, time.Time{}
	if whole {
		k.at = time.Now()
	}
	return is
}

// forget has the next one ask: Redis was away, and who comes back may be another server.
func (k *keptFacts) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
}

// facts asks Redis how it is set up and how it does, for status and doctor. What does not answer, or is forbidden, is missing; whole says
// that each master answered.
func (r RedisConfig) facts(ctx context.Context, rdb redis.UniversalClient) (s client.RedisStatus, whole bool) {
	s = client.RedisStatus{Mode: r.Mode, WaitReplicas: r.WaitReplicas, Versions: []string{}, Servers: []client.RedisServer{}, Sentinels: []client.RedisSentinel{}}
	var mu sync.Mutex
	whole = true
	_, failed := eachMaster(ctx, rdb, func(ctx context.Context, c *redis.Client) (string, error) {
		m, version, err := masterFacts(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			whole = false
			return "", nil //nolint:nilerr // one that does not answer keeps no other from it
		}
		s.Servers = append(s.Servers, m)
		if version != "" && !slices.Contains(s.Versions, version) {
			s.Versions = append(s.Versions, version)
		}
		return "", nil
	})
	slices.Sort(s.Versions)
	sum(&s)
	slices.SortFunc(s.Servers, func(a, b client.RedisServer) int { return cmp.Compare(a.Addr, b.Addr) })
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		s.Cluster = clusterFacts(ctx, c)
	default:
		if r.Mode == Sentinel {
			s.Sentinels = r.sentinelFacts(ctx)
			for i, m := range s.Servers { // the client does not know its address
				s.Servers[i].Addr = agreedMaster(s.Sentinels, m.Addr)
			}
		}
	}
	return s, whole && failed == nil
}

// sum adds the servers up.
func sum(s *client.RedisStatus) {
	limitless := false
	for _, m := range s.Servers {
		s.Masters++
		s.Replicas += int64(len(m.Replicas))
		s.MemoryBytes += m.MemoryUsed
		s.MemoryLimit += m.MemoryMost
		limitless = limitless || m.MemoryMost == 0
	}
	if limitless {
		s.MemoryLimit = 0
	}
}

// roundTrips is how often the way to a server is measured.
const roundTrips = 3

func masterFacts(ctx context.Context, c *redis.Client) (m client.RedisServer, version string, err error) {
	m = client.RedisServer{Addr: c.Options().Addr, Replicas: []client.RedisReplica{}, RoundTripUSec: time.Hour.Microseconds()}
	for range roundTrips {
		sent := time.Now()
		if err := c.Ping(ctx).Err(); err != nil {
			return m, "", err
		}
		m.RoundTripUSec = min(m.RoundTripUSec, time.Since(sent).Microseconds())
	}
	text, err := c.Info(ctx).Result()
	if err != nil {
		return m, "", err
	}
	info := fields(text)
	written := number(info["master_repl_offset"])
	for i := range number(info["connected_slaves"]) {
		of := map[string]string{}
		for pair := range strings.SplitSeq(info["slave"+strconv.FormatInt(i, 10)], ",") {
			name, value, _ := strings.Cut(pair, "=")
			of[name] = value
		}
		m.Replicas = append(m.Replicas, client.RedisReplica{
			Addr: of["ip"] + ":" + of["port"], State: of["state"], LagS: number(of["lag"]), Behind: max(written-number(of["offset"]), 0),
		})
	}
	m.AppendOnly = info["aof_enabled"] == "1"
	var failed []string
	for _, name := range []string{"rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"} {
		if state := info[name]; state != "" && state != "ok" {
			failed = append(failed, name+" is "+state)
		}
	}
	m.SaveFailed = strings.Join(failed, ", ")
	m.MemoryUsed, m.MemoryMost = number(info["used_memory"]), number(info["maxmemory"])
	if save, err := setting(ctx, c, "save"); err == nil {
		dumps := save != ""
		m.Dumps = &dumps
	}
	if least, err := setting(ctx, c, "min-replicas-to-write"); err == nil {
		n := int(number(least))
		m.MinReplicas = &n
	}
	return m, info["redis_version"], nil
}

// fields are those of an answer of INFO, by name.
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

// number is 0 for what is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func clusterFacts(ctx context.Context, c *redis.ClusterClient) *client.RedisCluster {
	text, err := c.ClusterInfo(ctx).Result()
	if err != nil {
		return nil
	}
	info := fields(text)
	return &client.RedisCluster{
		State: info["cluster_state"], Slots: int(number(info["cluster_slots_assigned"])), Moving: movingSlots(ctx, c),
	}
}

// movingSlots asks each master, for a node tells of its own slots alone that they move.
func movingSlots(ctx context.Context, c *redis.ClusterClient) []int {
	var mu sync.Mutex
	moving := []int{}
	_ = c.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		nodes, err := one.ClusterNodes(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		moving = append(moving, openSlots(nodes)...)
		return err
	})
	slices.Sort(moving)
	return slices.Compact(moving)
}

// openSlots are those that CLUSTER NODES has as migrating, [77->-NODE], or importing, [93-<-NODE].
func openSlots(nodes string) (open []int) {
	for _, word := range strings.Fields(nodes) {
		if slot, _, is := strings.Cut(strings.TrimPrefix(word, "["), "-"); is && word[0] == '[' {
			open = append(open, int(number(slot)))
		}
	}
	return open
}

// sentinelFacts asks each Sentinel of the configuration.
func (r RedisConfig) sentinelFacts(ctx context.Context) []client.RedisSentinel {
	all := make([]client.RedisSentinel, len(r.Addrs))
	var wait sync.WaitGroup
	for i, addr := range r.Addrs {
		wait.Go(func() { all[i] = r.askSentinel(ctx, addr) })
	}
	wait.Wait()
	return all
}

// agreedMaster is the address that the first Sentinel gives which answers.
func agreedMaster(all []client.RedisSentinel, otherwise string) string {
	for _, s := range all {
		if s.Master != "" {
			return s.Master
		}
	}
	return otherwise
}

func (r RedisConfig) askSentinel(ctx context.Context, addr string) client.RedisSentinel {
	s := client.RedisSentinel{Addr: addr}
	login, err := r.Sentinel.read()
	if err != nil {
		s.Error = "its password cannot be read"
		return s
	}
	secure, err := r.TLS.config()
	if err != nil {
		s.Error = "its certificates cannot be read"
		return s
	}
	c := redis.NewSentinelClient(&redis.Options{
		Addr: addr, Username: login.username, Password: login.password, TLSConfig: secure, ContextTimeoutEnabled: true, MaxRetries: -1,
		DialerRetries: 1, DisableIdentity: true, DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
	})
	defer c.Close()
	of, err := c.Master(ctx, r.Master).Result()
	if err != nil {
		s.Error = err.Error()
		return s
	}
	s.Master = of["ip"] + ":" + of["port"]
	s.Known = int(number(of["num-other-sentinels"])) + 1
	s.Quorum = int(number(of["quorum"]))
	if err := c.CkQuorum(ctx, r.Master).Err(); err != nil {
		s.Error = err.Error()
	}
	return s
}
