// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// Follow has a client of a Cluster, which was not used yet, ask who serves which slots whenever a node does not answer. A replica may have
// taken over, and the node that it took over from never come back to say so; by itself the client asks once a minute, and claims would be
// lost meanwhile.
func Follow(c *redis.ClusterClient) {
	c.OnNewNode(func(node *redis.Client) { node.AddHook(follower{c}) })
}

// follower sees what comes of all that a node is asked.
type follower struct{ cluster *redis.ClusterClient }

func (f follower) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		f.heed(err)
		return conn, err
	}
}

func (f follower) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f.heed(err)
		return err
	}
}

func (f follower) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		f.heed(err)
		return err
	}
}

// heed asks, in the background and at most five times a second, after an error that is not Redis' answer.
func (f follower) heed(err error) {
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered && !errors.Is(err, context.Canceled) {
		f.cluster.ReloadState(context.Background())
	}
}
