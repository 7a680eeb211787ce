// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many slots a Cluster has, https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec.
const slots = 16384

// Cluster is a Redis Cluster of three masters.
type Cluster struct {
	Servers  []*Server // the masters, as they were at the start
	Replicas []*Server // the i-th copies the i-th master; empty without replicas
}

// StartCluster starts three masters that share the slots evenly, and waits until each says cluster_state:ok. That takes two
// to three seconds: a master waits that long by itself before it takes writes.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		c.Servers = append(c.Servers, startNode(t, args))
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for i, s := range c.Servers {
		first, last := i*slots/len(c.Servers), (i+1)*slots/len(c.Servers)-1
		s.with(func(r *redis.Client) { check(t, r.ClusterAddSlotsRange(ctx, first, last).Err(), "cannot assign slots") })
		c.meet(t, ctx, s)
	}
	c.settle(t, ctx)
	return c
}

// StartReplicatedCluster is StartCluster with a replica for each master, in step.
func StartReplicatedCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	if user, password := credentials(args); password != "" {
		args = slices.Concat(args, []string{"--masterauth", password})
		if user != "" {
			args = slices.Concat(args, []string{"--masteruser", user})
		}
	}
	c := StartCluster(t, args...)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for range c.Servers {
		replica := startNode(t, args)
		c.Replicas = append(c.Replicas, replica)
		c.meet(t, ctx, replica)
	}
	c.settle(t, ctx)
	for i, replica := range c.Replicas {
		c.follow(t, ctx, replica, c.Servers[i], 1)
	}
	return c
}

// AnotherReplica starts one more replica of the i-th master, in step. The Cluster demands no password.
func (c *Cluster) AnotherReplica(i int, args ...string) *Server {
	t := c.Servers[i].t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	replica := startNode(t, args)
	c.meet(t, ctx, replica)
	master, err := c.Servers[i].nodeID(ctx)
	check(t, err, "cannot ask for a node's id")
	replica.with(func(r *redis.Client) {
		waitUntil(t, ctx, "the master known to its replica", func() bool {
			nodes, err := r.ClusterNodes(ctx).Result()
			return err == nil && strings.Contains(nodes, master)
		})
	})
	c.follow(t, ctx, replica, c.Servers[i], 2)
	return replica
}

// follow makes a node a replica of a master that has so many then.
func (c *Cluster) follow(t testing.TB, ctx context.Context, replica, of *Server, replicas int) {
	t.Helper()
	id, err := of.nodeID(ctx)
	check(t, err, "cannot ask for a node's id")
	replica.with(func(r *redis.Client) {
		check(t, r.ClusterReplicate(ctx, id).Err(), "cannot make a replica")
		waitUntil(t, ctx, "a replica in step", func() bool { return linkIsUp(ctx, r) })
	})
	of.with(func(master *redis.Client) {
		waitUntil(t, ctx, "the replica known to its master", func() bool {
			known, err := master.Do(ctx, "CLUSTER", "REPLICAS", id).StringSlice()
			return err == nil && len(known) == replicas
		})
	})
}

func (s *Server) nodeID(ctx context.Context) (id string, err error) {
	s.with(func(r *redis.Client) { id, err = r.ClusterMyID(ctx).Result() })
	return id, err
}

func startNode(t testing.TB, args []string) *Server {
	t.Helper()
	return Start(t, slices.Concat([]string{"--cluster-enabled", "yes"}, args)...)
}

// meet makes a node known to the others.
func (c *Cluster) meet(t testing.TB, ctx context.Context, s *Server) {
	t.Helper()
	host, port, _ := strings.Cut(c.Servers[0].Addr(), ":")
	s.with(func(r *redis.Client) { check(t, r.ClusterMeet(ctx, host, port).Err(), "cannot join the cluster") })
}

// settle waits until each node knows all others and says that the cluster serves.
func (c *Cluster) settle(t testing.TB, ctx context.Context) {
	t.Helper()
	nodes := slices.Concat(c.Servers, c.Replicas)
	known := fmt.Sprintf("cluster_known_nodes:%d", len(nodes))
	for _, s := range nodes {
		s.with(func(r *redis.Client) {
			waitUntil(t, ctx, "cluster_state:ok on each node", func() bool {
				info, err := r.ClusterInfo(ctx).Result()
				return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, known)
			})
		})
	}
}

// linkIsUp reports whether a replica is in step with its master.
func linkIsUp(ctx context.Context, replica *redis.Client) bool {
	info, err := replica.Info(ctx, "replication").Result()
	return err == nil && strings.Contains(info, "master_link_status:up")
}

// TakeOver kills the master that serves a key, as StartReplicatedCluster started it, and has its replica serve it.
func (c *Cluster) TakeOver(key string) {
	t := c.Servers[0].t
	t.Helper()
	master := c.Server(key)
	master.Kill()
	c.Replicas[slices.Index(c.Servers, master)].with(func(r *redis.Client) {
		check(t, r.Do(t.Context(), "cluster", "failover", "takeover").Err(), "cannot take over")
	})
}

// Addrs are the masters' addresses on loopback.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Options connect to the Cluster over TCP, and retry nothing but MOVED and ASK. They are the caller's to change.
func (c *Cluster) Options() *redis.ClusterOptions {
	o := c.Servers[0].Options()
	return &redis.ClusterOptions{
		Addrs: c.Addrs(), Username: o.Username, Password: o.Password, ContextTimeoutEnabled: true, DialerRetries: 1,
		MaxRetries: -1, DisableIdentity: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
	}
}

// Client returns a new client with Options, closed when the test ends.
func (c *Cluster) Client() *redis.ClusterClient {
	client := redis.NewClusterClient(c.Options())
	c.Servers[0].t.Cleanup(func() { _ = client.Close() })
	return client
}

// Server returns the master that serves a key.
func (c *Cluster) Server(key string) *Server {
	t := c.Servers[0].t
	t.Helper()
	slot, err := c.Client().ClusterKeySlot(t.Context(), key).Result()
	check(t, err, "cannot ask for a key's slot")
	for i, s := range c.Servers {
		if int(slot) < (i+1)*slots/len(c.Servers) {
			return s
		}
	}
	return nil
}

// waitUntil polls until the condition holds, or ends the test.
func waitUntil(t testing.TB, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("cannot get %s within %s", what, startTimeout)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
