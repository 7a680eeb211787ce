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

// clusterLines are the nodes' configuration. A node is given up after 2 s. Replicas stay with their master, so that a shard is always
// the same two nodes, and take over however old their data are. A shard that is away stops none of the others.
const clusterLines = `
cluster-enabled yes
cluster-node-timeout 2000
cluster-allow-replica-migration no
cluster-replica-validity-factor 0
cluster-require-full-coverage no
`

// startCluster starts three masters and a replica for each: the nodes i and i+3 are a shard.
func (s *Stage) startCluster(ctx context.Context) error {
	for i := range 2 * clusterShards {
		n, err := s.newRedis(ctx, i+1, clusterLines)
		if err != nil {
			return err
		}
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	for i, n := range s.Nodes[:clusterShards] {
		first, last := i*clusterSlots/clusterShards, (i+1)*clusterSlots/clusterShards-1
		if _, err := n.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
			return err
		}
	}
	for i, n := range s.Nodes { // each has an epoch of its own from the start, so none must be agreed on
		if _, err := n.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
	}
	for _, n := range s.Nodes[1:] {
		if _, err := n.Do(ctx, "CLUSTER", "MEET", s.Nodes[0].link.ip, redisPort); err != nil {
			return err
		}
	}
	for _, n := range s.Nodes {
		if err := await(ctx, n.Name+" does not know all others", func() bool { return s.knowsAll(ctx, n) }); err != nil {
			return err
		}
	}
	for i, replica := range s.Nodes[clusterShards:] {
		id, err := s.Nodes[i].client.Do(ctx, "CLUSTER", "MYID").Text()
		if err == nil {
			_, err = replica.Do(ctx, "CLUSTER", "REPLICATE", id)
		}
		if err != nil {
			return err
		}
	}
	return s.awaitRedis(ctx)
}

func (s *Stage) knowsAll(ctx context.Context, n *Node) bool {
	return n.info(ctx, "cluster_known_nodes", "CLUSTER", "INFO") == fmt.Sprint(len(s.Nodes))
}

// clusterMaster is the node of a shard that says it is the master: of two that say so, the one that became it later.
func (s *Stage) clusterMaster(ctx context.Context, shard int) (master *Node) {
	newest := -1
	for _, n := range s.shard(shard) {
		epoch, err := strconv.Atoi(n.info(ctx, "cluster_my_epoch", "CLUSTER", "INFO"))
		if err == nil && epoch > newest && n.Master(ctx) {
			master, newest = n, epoch
		}
	}
	return master
}

func (s *Stage) clusterSettled(ctx context.Context) bool {
	for shard := range clusterShards {
		master := s.clusterMaster(ctx, shard)
		for _, n := range s.shard(shard) {
			if !s.knowsAll(ctx, n) || n.info(ctx, "cluster_state", "CLUSTER", "INFO") != "ok" || !allWell(ctx, n) {
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
	nodes, err := n.client.Do(ctx, "CLUSTER", "NODES").Text()
	return err == nil && !strings.Contains(nodes, "fail") && !strings.Contains(nodes, "handshake") &&
		strings.Count(nodes, "master") == clusterShards
}
