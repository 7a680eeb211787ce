// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/daemon"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// look waits until doctor says something of a real Redis, and returns all that it says then.
func look(t *testing.T, r daemon.RedisConfig, check, level, says string) []Finding {
	t.Helper()
	c := daemon.DefaultConfig()
	r.Prefix, c.Redis = "picket", r
	var found []Finding
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, status, _, err := c.Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := visit{}
		v.redis(status)
		found = v.found
		for _, f := range found {
			if f.Check == check && f.Level == level && strings.Contains(f.Found, says) {
				return found
			}
		}
	}
	t.Fatalf("%s: no %s that says %q in\n%+v", check, level, says, found)
	return nil
}

func standalone(s *redistest.Server) daemon.RedisConfig {
	return daemon.RedisConfig{Mode: daemon.Standalone, Addrs: []string{s.Addr()}}
}

func TestDoctorLooksAtAStandaloneRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--save", "60 1")
	direct := s.Client()
	set := func(name, value string) {
		t.Helper()
		if err := direct.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	look(t, standalone(s), "redis_version", OK, "standalone")
	look(t, standalone(s), "redis_replicas", OK, "none")
	look(t, standalone(s), "redis_latency", OK, "round trip")
	look(t, standalone(s), "redis_memory", Warning, "no maxmemory")
	look(t, standalone(s), "redis_persistence", Warning, "dumps only")
	set("appendonly", "yes")
	look(t, standalone(s), "redis_persistence", OK, "append-only")
	set("maxmemory", "1gb")
	look(t, standalone(s), "redis_memory", OK, "left of 1.0 GiB")
	set("maxmemory", "1mb")
	look(t, standalone(s), "redis_memory", Wrong, "about to refuse writes")
	set("min-replicas-to-write", "1")
	look(t, standalone(s), "redis_min_replicas", Wrong, "has 0 replicas and refuses writes below 1")

	broken := redistest.Start(t, "--dir", "/proc") // where no file can be made
	_ = broken.Client().BgSave(t.Context()).Err()
	look(t, standalone(broken), "redis_persistence", Wrong, "rdb_last_bgsave_status is err")
}

func TestDoctorLooksAtSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	of := func() daemon.RedisConfig {
		return daemon.RedisConfig{Mode: daemon.Sentinel, Addrs: s.Addrs(), Master: s.MasterName}
	}
	look(t, of(), "redis_sentinels", OK, "knows 1 Sentinel, needs 1 to agree, has the master at "+s.Master.Addr())
	look(t, of(), "redis_sentinels", Warning, "1 Sentinel is known")
	look(t, of(), "redis_replicas", OK, s.Replica.Addr()+" of "+s.Master.Addr()+" is ")
	look(t, of(), "redis_min_replicas", Warning, "a failover loses them")
	if err := s.Master.Client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	look(t, of(), "redis_min_replicas", OK, "1 replica or more")
	s.Replica.Kill()
	look(t, of(), "redis_replicas", Warning, "has none: nothing takes over")

	s.More(t, 2)
	look(t, of(), "redis_sentinels", OK, "knows 3 Sentinels")
	for _, other := range s.Others {
		other.Kill()
	}
	look(t, of(), "redis_sentinels", Warning, s.Others[0].Addr()+" is of no use")
	look(t, of(), "redis_sentinels", Wrong, s.Sentinel.Addr()+" could not fail over: NOQUORUM")
}

func TestDoctorLooksAtACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartReplicatedCluster(t)
	of := daemon.RedisConfig{Mode: daemon.Cluster, Addrs: c.Addrs()}
	look(t, of, "redis_cluster", OK, "3 masters serve all slots")
	look(t, of, "redis_replicas", OK, " of "+c.Servers[1].Addr())
	breakOff(t, c)
	for _, f := range look(t, of, "redis_cluster", Wrong, "1 slot is between two masters (the first is 3300)") {
		if f.Check == "redis_cluster" && !strings.Contains(f.Right, "redis-cli --cluster fix") {
			t.Errorf("right would be %s", f.Right)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "redis-cli", "--cluster", "fix", c.Servers[0].Addr()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	look(t, of, "redis_cluster", OK, "3 masters serve all slots")
	for _, s := range append(c.Servers, c.Replicas...) {
		if err := s.Client().ClusterDelSlots(t.Context(), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	look(t, of, "redis_cluster", Wrong, "nobody serves 1 of 16384 slots")
}

// breakOff begins to move slot 3300 from the first master to the second, and leaves it when the first of its two keys has moved.
func breakOff(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	const slot = 3300 // of the key b
	from, to := c.Servers[0].Client(), c.Servers[1].Client()
	host, port, _ := strings.Cut(c.Servers[1].Addr(), ":")
	for _, step := range []struct {
		on   *redis.Client
		call []any
	}{
		{from, []any{"mset", "{b}1", "x", "{b}2", "x"}},
		{to, []any{"cluster", "setslot", slot, "importing", from.ClusterMyID(t.Context()).Val()}},
		{from, []any{"cluster", "setslot", slot, "migrating", to.ClusterMyID(t.Context()).Val()}},
		{from, []any{"migrate", host, port, "{b}1", 0, 60_000}},
	} {
		if err := step.on.Do(t.Context(), step.call...).Err(); err != nil {
			t.Fatalf("%v: %v", step.call, err)
		}
	}
}

// TestDoctorJudgesWhatRedisTells: what takes long, or much, to bring about for real.
func TestDoctorJudgesWhatRedisTells(t *testing.T) {
	t.Parallel()
	one := func(m client.RedisServer) client.RedisStatus {
		return client.RedisStatus{Mode: daemon.Sentinel, Servers: []client.RedisServer{m}}
	}
	for name, c := range map[string]struct {
		status client.RedisStatus
		check  string
		level  string
		says   string
	}{
		"slow":    {one(client.RedisServer{Addr: "a", RoundTripUSec: 150_000}), "redis_latency", Warning, "150ms"},
		"filling": {one(client.RedisServer{MemoryUsed: 85, MemoryMost: 100}), "redis_memory", Warning, "15 bytes left of 100 bytes"},
		"silent":  {one(client.RedisServer{Replicas: []client.RedisReplica{{Addr: "r", State: "online", LagS: 11}}}), "redis_replicas", Wrong, "not heard of for 11 s"},
		"few": {
			client.RedisStatus{WaitReplicas: 1, Servers: []client.RedisServer{{Addr: "a", Replicas: []client.RedisReplica{{State: "wait_bgsave"}}}}},
			"redis_replicas", Wrong, "a has 0 in step, and a grant waits for 1",
		},
		"copying":  {one(client.RedisServer{Replicas: []client.RedisReplica{{Addr: "r", State: "wait_bgsave"}}}), "redis_replicas", Wrong, "wait_bgsave"},
		"disunity": {client.RedisStatus{Sentinels: []client.RedisSentinel{{Master: "a", Known: 3}, {Master: "b", Known: 3}}}, "redis_sentinels", Wrong, "do not agree"},
		"unknown":  {client.RedisStatus{Sentinels: []client.RedisSentinel{{Error: "ERR No such master with that name"}}}, "redis_sentinels", Wrong, "none knows a master"},
		"failed":   {client.RedisStatus{Cluster: &client.RedisCluster{State: "fail", Slots: 16384}}, "redis_cluster", Wrong, "its state is fail"},
		"small":    {client.RedisStatus{Cluster: &client.RedisCluster{State: "ok", Slots: 16384}, Servers: make([]client.RedisServer, 2)}, "redis_cluster", Warning, "2 masters answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := visit{}
			v.redis(c.status)
			found := false
			for _, f := range v.found {
				found = found || f.Check == c.check && f.Level == c.level && strings.Contains(f.Found, c.says)
			}
			if !found {
				t.Errorf("got %+v", v.found)
			}
		})
	}
}
