// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// topology is a set-up of Redis. A shard is the nodes that have the same keys: all of them, but on a Cluster.
type topology interface {
	start(ctx context.Context) error
	told() []*Node       // whose addresses daemons are given
	shards() [][]*Node   // in an order that stays
	everything() []*Node // the servers that hold data, then the Sentinels

	// master is the node that serves a shard now, as most know it; nil when none does.
	master(ctx context.Context, shard int) *Node
	// settled reports whether each shard has a master and its replicas in step, and all agree on that.
	settled(ctx context.Context) bool
	// failover has a replica become the master, and loses nothing. Nothing else disturbs the nodes meanwhile.
	failover(ctx context.Context, shard int, master *Node) error
	// follow has an old master, which may think that it is still one, follow the new one.
	follow(ctx context.Context, old, master *Node) error
}

var (
	errNoMaster  = errors.New("no node serves the shard")
	errNoReplica = errors.New("a standalone server has no replica")
)

// failoverLimit is longer than a failover takes, and than Sentinels and nodes of a Cluster go on with one.
const failoverLimit = 12 * time.Second

// site is where nodes are made.
type site struct {
	options Options
	router  *router
	still   *sync.RWMutex // see newNode
	draw    func(n int) int
}

// node makes a node that is no server of data.
func (s *site) node(ctx context.Context, name string, port int, lines ...string) (*Node, error) {
	l, err := s.router.add(ctx, name)
	if err != nil {
		return nil, err
	}
	return newNode(l, port, s.options.Dir, s.still, lines...)
}

// redis makes a node that holds data.
func (s *site) redis(ctx context.Context, number int, lines ...string) (*Node, error) {
	n, err := s.node(ctx, fmt.Sprint("redis-", number), redisPort, append(lines, everyRedis)...)
	if err == nil && s.options.Clocks {
		n.clock, err = newClock(filepath.Join(n.dir, "clock"))
	}
	return n, err
}

// standalone is one server.
type standalone struct {
	site
	nodes []*Node // one
}

func (t *standalone) start(ctx context.Context) error {
	n, err := t.redis(ctx, 1)
	if err != nil {
		return err
	}
	t.nodes = []*Node{n}
	return n.Start(ctx)
}

func (t *standalone) told() []*Node { return t.nodes }

func (t *standalone) shards() [][]*Node { return [][]*Node{t.nodes} }

func (t *standalone) everything() []*Node { return t.nodes }

func (t *standalone) master(ctx context.Context, _ int) *Node {
	if t.nodes[0].Master(ctx) {
		return t.nodes[0]
	}
	return nil
}

func (t *standalone) settled(ctx context.Context) bool { return t.nodes[0].Master(ctx) }

func (t *standalone) failover(context.Context, int, *Node) error { return errNoReplica }

func (t *standalone) follow(context.Context, *Node, *Node) error { return errNoReplica }
