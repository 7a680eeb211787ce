// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

const (
	driftUsual   = time.Second           // of the clocks; the daemon raises its alarm at the same
	lagUsual     = 10                    // seconds since a replica was heard of, Redis' own default for min-replicas-max-lag
	tripUsual    = 20 * time.Millisecond // a claim with four steps and an end takes about a dozen
	memoryUsual  = 80                    // percent of maxmemory, as in the rule PicketRedisFills
	memoryMost   = 95                    // from here on writes are about to be refused
	slots        = 16384                 // of a Cluster
	mastersUsual = 3                     // of a Cluster: with fewer, none can be voted in for one that is gone
	sentinels    = 3                     // with fewer, none is left to agree with when one is away
)

// redisChecks are what is looked at of Redis, in this order.
var redisChecks = []func(*visit, client.RedisStatus){
	(*visit).redisVersion, (*visit).clocks, (*visit).redisCluster, (*visit).redisSentinels, (*visit).redisReplicas, (*visit).redisMinReplicas,
	(*visit).redisPersistence, (*visit).redisMemory, (*visit).redisLatency,
}

func (v *visit) redis(r client.RedisStatus) {
	for _, look := range redisChecks {
		look(v, r)
	}
}

func (v *visit) redisVersion(r client.RedisStatus) {
	for _, one := range r.Versions {
		if tooOld(one) {
			v.wrong("redis_version", "update it to 6.2 or later", "Redis is %s", one)
		} else {
			v.ok("redis_version", "%s, %s", one, r.Mode)
		}
	}
}

// tooOld reports whether a version of Redis is older than 6.2. One that cannot be read is not.
func tooOld(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	major, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 2 {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major < 6 || major == 6 && minor < 2)
}

func (v *visit) clocks(r client.RedisStatus) {
	switch offset := r.ClockOffsetMS; {
	case offset == nil:
	case max(*offset, -*offset) > driftUsual.Milliseconds():
		v.wrong("clocks", "set both by NTP", "Redis' clock is %s from this host's", plain.Duration(time.Duration(*offset)*time.Millisecond))
	default:
		v.ok("clocks", "Redis' clock and this host's agree within %s", plain.Duration(driftUsual))
	}
}

func (v *visit) redisCluster(r client.RedisStatus) {
	c, masters := r.Cluster, len(r.Servers)
	switch {
	case c == nil:
	case c.Slots < slots:
		v.wrong("redis_cluster", "start the masters that are missing, or redis-cli --cluster fix", "nobody serves %d of %d slots", slots-c.Slots, slots)
	case c.State != "" && c.State != "ok":
		v.wrong("redis_cluster", "redis-cli --cluster check says which nodes are missing", "its state is %s", c.State)
	case len(c.Moving) > 0:
		v.wrong("redis_cluster", "wait, if somebody moves slots now; else redis-cli --cluster fix", "%s between two masters (the first is %d): calls on assets there may fail",
			plain.Count(len(c.Moving), "slot is", "slots are"), c.Moving[0])
	case masters < mastersUsual:
		v.warn("redis_cluster", "use three or more", "%s: no replica is voted in when one is gone", plain.Count(masters, "master answers", "masters answer"))
	default:
		v.ok("redis_cluster", "%d masters serve all slots", masters)
	}
}

func (v *visit) redisSentinels(r client.RedisStatus) {
	if len(r.Sentinels) == 0 {
		return
	}
	known, names := 0, map[string]bool{}
	for _, s := range r.Sentinels {
		known = max(known, s.Known)
		switch {
		case s.Master == "":
			v.warn("redis_sentinels", "start it, or take it out of redis.addrs", "%s is of no use: %s", s.Addr, s.Error)
		case s.Error != "":
			v.wrong("redis_sentinels", "start Sentinels until a majority is there", "%s could not fail over: %s", s.Addr, s.Error)
		default:
			v.ok("redis_sentinels", "%s knows %s, needs %d to agree, has the master at %s", s.Addr, plain.Count(s.Known, "Sentinel", "Sentinels"), s.Quorum, s.Master)
		}
		if s.Master != "" {
			names[s.Master] = true
		}
	}
	switch {
	case len(names) == 0:
		v.wrong("redis_sentinels", "", "none knows a master")
	case len(names) > 1:
		v.wrong("redis_sentinels", "wait for a failover to end; else SENTINEL RESET on the one that is wrong", "they do not agree who the master is")
	case known < sentinels:
		v.warn("redis_sentinels", "run three or more, on machines of their own", "%s: when one is away with the master, nobody fails over",
			plain.Count(known, "Sentinel is known", "Sentinels are known"))
	}
}

func (v *visit) redisReplicas(r client.RedisStatus) {
	for _, m := range r.Servers {
		if len(m.Replicas) == 0 {
			if r.Mode == "standalone" {
				v.ok("redis_replicas", "none: what %s loses is lost", m.Addr)
			} else {
				v.warn("redis_replicas", "give it one, on another machine", "%s has none: nothing takes over for it", m.Addr)
			}
		}
		inStep := 0
		for _, one := range m.Replicas {
			if one.State == "online" {
				inStep++
			}
			switch {
			case one.State != "online":
				v.wrong("redis_replicas", "its log says why it is not in step", "%s of %s is not in step: %s", one.Addr, m.Addr, one.State)
			case one.LagS > lagUsual:
				v.wrong("redis_replicas", "look at the network between them, and at its load", "%s of %s was not heard of for %d s", one.Addr, m.Addr, one.LagS)
			default:
				v.ok("redis_replicas", "%s of %s is %s behind", one.Addr, m.Addr, size(one.Behind))
			}
		}
		if inStep < r.WaitReplicas {
			v.wrong("redis_replicas", "start its replicas, or lower redis.wait_replicas",
				"%s has %d in step, and a grant waits for %d (redis.wait_replicas)", m.Addr, inStep, r.WaitReplicas)
		}
	}
}

func (v *visit) redisMinReplicas(r client.RedisStatus) {
	for _, m := range r.Servers {
		switch least := m.MinReplicas; {
		case least == nil:
		case *least > len(m.Replicas):
			v.wrong("redis_min_replicas", "start its replicas, or lower min-replicas-to-write", "%s has %s and refuses writes below %d",
				m.Addr, plain.Count(len(m.Replicas), "replica", "replicas"), *least)
		case *least == 0 && len(m.Replicas) > 0:
			v.warn("redis_min_replicas", "set min-replicas-to-write to 1 on master and replicas, by CONFIG SET and in redis.conf",
				"%s takes writes when it is cut off from its replicas, and a failover loses them", m.Addr)
		case *least > 0:
			v.ok("redis_min_replicas", "%s takes writes with %s or more", m.Addr, plain.Count(*least, "replica", "replicas"))
		}
	}
}

// redisPersistence leaves a Redis that writes nothing to disk to the daemon, which warns of it as redis_settings.
func (v *visit) redisPersistence(r client.RedisStatus) {
	for _, m := range r.Servers {
		switch {
		case m.SaveFailed != "":
			v.wrong("redis_persistence", "look at Redis' disk and its log; after a failed dump it may refuse writes (MISCONF)", "%s: %s", m.Addr, m.SaveFailed)
		case m.AppendOnly:
			v.ok("redis_persistence", "%s writes an append-only file", m.Addr)
		case m.Dumps != nil && *m.Dumps:
			v.warn("redis_persistence", "set appendonly to yes, by CONFIG SET and in redis.conf",
				"%s writes dumps only: a crash loses what came after the last one", m.Addr)
		}
	}
}

func (v *visit) redisMemory(r client.RedisStatus) {
	for _, m := range r.Servers {
		right := "raise maxmemory, or keep tickets for less long (tickets.keep)"
		switch used := m.MemoryUsed; {
		case m.MemoryMost == 0 && used == 0:
		case m.MemoryMost == 0:
			v.warn("redis_memory", "set maxmemory to half of the machine's memory at most",
				"%s uses %s and has no maxmemory: it grows until the system ends it", m.Addr, size(used))
		case used*100 >= m.MemoryMost*memoryMost:
			v.wrong("redis_memory", right, "%s has %s left of %s: it is about to refuse writes", m.Addr, size(max(m.MemoryMost-used, 0)), size(m.MemoryMost))
		case used*100 >= m.MemoryMost*memoryUsual:
			v.warn("redis_memory", right, "%s has %s left of %s", m.Addr, size(m.MemoryMost-used), size(m.MemoryMost))
		default:
			v.ok("redis_memory", "%s has %s left of %s", m.Addr, size(m.MemoryMost-used), size(m.MemoryMost))
		}
	}
}

func (v *visit) redisLatency(r client.RedisStatus) {
	for _, m := range r.Servers {
		trip := time.Duration(m.RoundTripUSec) * time.Microsecond
		if trip > tripUsual {
			v.warn("redis_latency", "bring Redis nearer, or look at its SLOWLOG and the network", "a round trip to %s takes %s", m.Addr, plain.Duration(trip))
		} else {
			v.ok("redis_latency", "a round trip to %s takes %s", m.Addr, trip)
		}
	}
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
