// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many slots a Cluster has, https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec.
const slots = 16384

// Cluster is a Redis Cluster of three masters without replicas.
type Cluster struct {
	Servers []*Server
}

// StartCluster starts three masters that share the slots evenly, and waits until each says cluster_state:ok. That takes two
// to three seconds: a master waits that long by itself before it takes writes.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		c.Servers = append(c.Servers, Start(t, slices.Concat([]string{"--cluster-enabled", "yes"}, args)...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	clients := make([]*redis.Client, len(c.Servers))
	for i, s := range c.Servers {
		clients[i] = redis.NewClient(s.Options())
		defer clients[i].Close()
		first, last := i*slots/len(c.Servers), (i+1)*slots/len(c.Servers)-1
		check(t, clients[i].ClusterAddSlotsRange(ctx, first, last).Err(), "cannot assign slots")
		host, port, _ := strings.Cut(c.Servers[0].Addr(), ":")
		if i > 0 {
			check(t, clients[i].ClusterMeet(ctx, host, port).Err(), "cannot join the cluster")
		}
	}
	for _, client := range clients {
		waitUntil(t, ctx, "cluster_state:ok on each of three nodes", func() bool {
			info, err := client.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	return c
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
