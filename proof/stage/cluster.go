// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	clusterShards = 3
	clusterSlots  = 16384 // https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec
)

// clusterLines are the nodes' configuration. Replicas stay with their master, so that a shard is always
// the same two nodes, and take over however old their data are. A shard that is away stops none of the others.
const clusterLines = `
cluster-enabled yes
cluster-node-timeout %d
cluster-allow-replica-migration no
cluster-replica-validity-factor 0
cluster-require-full-coverage no
`

// move is a slot on its way from one shard to another.
type move struct {
	slot     int64
	from, to int // shards
}

// cluster is three masters and a replica for each: the nodes i and i+3 are a shard.
type cluster struct {
	site
	nodes  []*Node
	moving *move // a slot that is half-way
}

func (t *cluster) told() []*Node { return t.nodes }

func (t *cluster) shards() (all [][]*Node) {
	for i := range clusterShards {
		all = append(all, []*Node{t.nodes[i], t.nodes[i+clusterShards]})
	}
	return all
}

func (t *cluster) everything() []*Node { return t.nodes }

func (t *cluster) start(ctx context.Context) error {
	for i := range 2 * clusterShards {
		n, err := t.redis(ctx, i+1, fmt.Sprintf(clusterLines, t.options.Patience.Milliseconds()))
		if err != nil {
			return err
		}
		t.nodes = append(t.nodes, n)
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	for i, n := range t.nodes[:clusterShards] {
		first, last := i*clusterSlots/clusterShards, (i+1)*clusterSlots/clusterShards-1
		if _, err := n.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
			return err
		}
	}
	for i, n := range t.nodes { // each has an epoch of its own from the start, so none must be agreed on
		if _, err := n.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
	}
	for _, n := range t.nodes[1:] {
		if _, err := n.Do(ctx, "CLUSTER", "MEET", t.nodes[0].link.ip, redisPort); err != nil {
			return err
		}
	}
	for _, n := range t.nodes {
		if err := await(ctx, n.Name+" does not know all others", func() bool { return t.knowsAll(ctx, n) }); err != nil {
			return err
		}
	}
	for i, replica := range t.nodes[clusterShards:] {
		id, err := t.nodes[i].ask(ctx, "CLUSTER", "MYID").Text()
		if err == nil {
			_, err = replica.Do(ctx, "CLUSTER", "REPLICATE", id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *cluster) knowsAll(ctx context.Context, n *Node) bool {
	return n.info(ctx, "cluster_known_nodes", "CLUSTER", "INFO") == fmt.Sprint(len(t.nodes))
}

// master is the node of a shard that says it is the master: of two that say so, the one that became it later.
func (t *cluster) master(ctx context.Context, shard int) (master *Node) {
	newest := -1
	for _, n := range t.shards()[shard] {
		epoch, err := strconv.Atoi(n.info(ctx, "cluster_my_epoch", "CLUSTER", "INFO"))
		if err == nil && epoch > newest && n.Master(ctx) {
			master, newest = n, epoch
		}
	}
	return master
}

func (t *cluster) settled(ctx context.Context) bool {
	for shard := range clusterShards {
		master := t.master(ctx, shard)
		for _, n := range t.shards()[shard] {
			if !t.knowsAll(ctx, n) || n.info(ctx, "cluster_state", "CLUSTER", "INFO") != "ok" || !allWell(ctx, n) {
				return false
			}
			if n != master && (!n.inStep(ctx) || n.Master(ctx)) {
				return false
			}
		}
		if master == nil {
			return false
		}
	}
	return true
}

// allWell reports whether a node holds no other for gone, and knows as many masters as there are shards.
func allWell(ctx context.Context, n *Node) bool {
	nodes, err := n.ask(ctx, "CLUSTER", "NODES").Text()
	return err == nil && !strings.Contains(nodes, "fail") && !strings.Contains(nodes, "handshake") &&
		strings.Count(nodes, "master") == clusterShards
}

// failover is coordinated by Redis itself: the master takes no writes until the replica has all.
func (t *cluster) failover(ctx context.Context, shard int, master *Node) error {
	replica := t.shards()[shard][0]
	if replica == master {
		replica = t.shards()[shard][1]
	}
	if _, err := replica.Do(ctx, "CLUSTER", "FAILOVER"); err != nil {
		return fmt.Errorf("%s: %w", replica.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, failoverLimit)
	defer cancel()
	return await(ctx, replica.Name+" does not become the master", func() bool { return replica.Master(ctx) })
}

// follow is what the nodes of a Cluster do by themselves.
func (t *cluster) follow(context.Context, *Node, *Node) error { return nil }
