// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// masterName is how the Sentinels call the master.
const masterName = "main"

// sentinelLines are the Sentinels' configuration.
const sentinelLines = `
sentinel monitor main %s %d 2
sentinel down-after-milliseconds main %d
sentinel failover-timeout main 5000
sentinel parallel-syncs main 2
`

// sentinel is a master, two replicas and three Sentinels.
type sentinel struct {
	site
	nodes, sentinels []*Node
}

func (t *sentinel) start(ctx context.Context) error {
	first := ""
	for i := range 3 {
		lines := []string{"min-replicas-to-write 1", "min-replicas-max-lag 10"} // as docs/redis.md has it
		if i > 0 {
			lines = append(lines, fmt.Sprint("replicaof ", first, " ", redisPort))
		}
		n, err := t.redis(ctx, i+1, lines...)
		if err != nil {
			return err
		}
		t.nodes = append(t.nodes, n)
		first = t.nodes[0].link.ip
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	lines := fmt.Sprintf(sentinelLines, first, redisPort, t.options.Patience.Milliseconds())
	for i := range 3 {
		n, err := t.node(ctx, fmt.Sprint("sentinel-", i+1), sentinelPort, lines)
		if err != nil {
			return err
		}
		n.kind = []string{"--sentinel"}
		t.sentinels = append(t.sentinels, n)
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *sentinel) told() []*Node { return t.sentinels }

func (t *sentinel) shards() [][]*Node { return [][]*Node{t.nodes} }

func (t *sentinel) everything() []*Node { return slices.Concat(t.nodes, t.sentinels) }

// says is whom a Sentinel calls the master; nil when it does not answer.
func (t *sentinel) says(ctx context.Context, sentinel *Node) *Node {
	addr, err := sentinel.ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
	if err != nil {
		return nil
	}
	for _, n := range t.nodes {
		if n.Addr == strings.Join(addr, ":") {
			return n
		}
	}
	return nil
}

// master is whom most Sentinels call the master, if it says so, too.
func (t *sentinel) master(ctx context.Context, _ int) *Node {
	votes := map[*Node]int{}
	for _, sentinel := range t.sentinels {
		n := t.says(ctx, sentinel)
		votes[n]++
		if n != nil && votes[n] > len(t.sentinels)/2 && n.Master(ctx) {
			return n
		}
	}
	return nil
}

func (t *sentinel) settled(ctx context.Context) bool {
	master := t.master(ctx, 0)
	if master == nil || master.info(ctx, "connected_slaves", "INFO", "replication") != fmt.Sprint(len(t.nodes)-1) {
		return false
	}
	for _, n := range t.nodes {
		if n != master && !n.inStep(ctx) {
			return false
		}
	}
	for _, sentinel := range t.sentinels {
		if t.says(ctx, sentinel) != master || !sees(ctx, sentinel, len(t.nodes)-1, len(t.sentinels)-1) {
			return false
		}
	}
	return true
}

// sees reports whether a Sentinel knows the master as well, and all the others.
func sees(ctx context.Context, sentinel *Node, replicas, sentinels int) bool {
	words, err := sentinel.ask(ctx, "SENTINEL", "MASTER", masterName).StringSlice()
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
