// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"strings"
)

// masterName is how the Sentinels call the master.
const masterName = "main"

// sentinelLines are the Sentinels' configuration. A master is given up after 1.5 s.
const sentinelLines = `
sentinel monitor main %s %d 2
sentinel down-after-milliseconds main 1500
sentinel failover-timeout main 5000
sentinel parallel-syncs main 2
`

// startSentinel starts a master, two replicas and three Sentinels.
func (s *Stage) startSentinel(ctx context.Context) error {
	master := ""
	for i := range 3 {
		lines := []string{"min-replicas-to-write 1", "min-replicas-max-lag 10"} // as docs/redis.md has it
		if i > 0 {
			lines = append(lines, fmt.Sprint("replicaof ", master, " ", redisPort))
		}
		n, err := s.newRedis(ctx, i+1, lines...)
		if err != nil {
			return err
		}
		master = s.Nodes[0].link.ip
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	for i := range 3 {
		n, err := s.newNode(ctx, fmt.Sprint("sentinel-", i+1), sentinelPort, fmt.Sprintf(sentinelLines, master, redisPort))
		if err != nil {
			return err
		}
		n.kind = []string{"--sentinel"}
		s.Sentinels = append(s.Sentinels, n)
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	return s.awaitRedis(ctx)
}

// told is whom a Sentinel calls the master; nil when it does not answer.
func (s *Stage) told(ctx context.Context, sentinel *Node) *Node {
	addr, err := sentinel.client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
	if err != nil {
		return nil
	}
	for _, n := range s.Nodes {
		if n.Addr == strings.Join(addr, ":") {
			return n
		}
	}
	return nil
}

// sentinelMaster is whom most Sentinels call the master, if it says so, too.
func (s *Stage) sentinelMaster(ctx context.Context) *Node {
	votes := map[*Node]int{}
	for _, sentinel := range s.Sentinels {
		n := s.told(ctx, sentinel)
		votes[n]++
		if n != nil && votes[n] > len(s.Sentinels)/2 && n.Master(ctx) {
			return n
		}
	}
	return nil
}

func (s *Stage) sentinelSettled(ctx context.Context) bool {
	master := s.sentinelMaster(ctx)
	if master == nil || master.info(ctx, "connected_slaves", "INFO", "replication") != fmt.Sprint(len(s.Nodes)-1) {
		return false
	}
	for _, n := range s.Nodes {
		if n != master && !n.inStep(ctx) {
			return false
		}
	}
	for _, sentinel := range s.Sentinels {
		if s.told(ctx, sentinel) != master || !sees(ctx, sentinel, len(s.Nodes)-1, len(s.Sentinels)-1) {
			return false
		}
	}
	return true
}

// sees reports whether a Sentinel knows the master as well, and all the others.
func sees(ctx context.Context, sentinel *Node, replicas, sentinels int) bool {
	words, err := sentinel.client.Do(ctx, "SENTINEL", "MASTER", masterName).StringSlice()
	if err != nil {
		return false
	}
	state := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		state[words[i]] = words[i+1]
	}
	return state["flags"] == "master" && state["num-slaves"] == fmt.Sprint(replicas) &&
		state["num-other-sentinels"] == fmt.Sprint(sentinels)
}
