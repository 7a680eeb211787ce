// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"time"
)

func (s *Stage) startStandalone(ctx context.Context) error {
	n, err := s.newRedis(ctx, 1)
	if err != nil {
		return err
	}
	return n.Start(ctx)
}

// Shards is how many masters there are when all is well.
func (s *Stage) Shards() int {
	if s.options.Topology == "cluster" {
		return clusterShards
	}
	return 1
}

// shard are the nodes that have the data of a shard, or had.
func (s *Stage) shard(number int) []*Node {
	if s.options.Topology == "cluster" {
		return []*Node{s.Nodes[number], s.Nodes[number+clusterShards]}
	}
	return s.Nodes
}

// Master is the node that serves a shard now, as most know it; nil when none does.
func (s *Stage) Master(ctx context.Context, shard int) *Node {
	switch s.options.Topology {
	case "sentinel":
		return s.sentinelMaster(ctx)
	case "cluster":
		return s.clusterMaster(ctx, shard)
	}
	if s.Nodes[0].Master(ctx) {
		return s.Nodes[0]
	}
	return nil
}

// awaitRedis waits until each shard has a master and its replicas in step, and all agree on that.
func (s *Stage) awaitRedis(ctx context.Context) error {
	settled := func() bool { return s.Master(ctx, 0) != nil }
	switch s.options.Topology {
	case "sentinel":
		settled = func() bool { return s.sentinelSettled(ctx) }
	case "cluster":
		settled = func() bool { return s.clusterSettled(ctx) }
	}
	return await(ctx, "Redis is not settled", settled)
}

// errNoMaster is for what must know the master of a shard.
var errNoMaster = errors.New("no node serves the shard")

// await waits until something holds; the error says what does not.
func await(ctx context.Context, not string, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return errors.Join(errors.New(not), ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}
