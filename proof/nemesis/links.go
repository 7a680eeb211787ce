// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"slices"
	"time"

	"github.com/picketd/picket/proof/stage"
)

// way is a link from one place to another, one way.
type way struct{ from, to stage.Place }

func both(a, b stage.Place) []way { return []way{{a, b}, {b, a}} }

// cut has all that goes those ways dropped. meanwhile is called at the end, while they are still cut; nil: nothing is.
func (j job) cut(ctx context.Context, target string, ways []way, meanwhile func(context.Context)) error {
	var heals []func()
	return j.strike(ctx, blow{
		target: target,
		begin: plain(func() {
			for _, w := range ways {
				heals = append(heals, j.stage.Cut(w.from, w.to))
			}
		}),
		end: func(ctx context.Context) error {
			if meanwhile != nil {
				meanwhile(ctx)
			}
			for _, heal := range heals {
				heal()
			}
			return nil
		},
	})
}

// pair is a host and a node.
type pair struct {
	host *stage.Host
	node *stage.Node
}

func (p pair) target() string { return p.host.Name + " " + p.node.Name }

func (p pair) link() string { return "link of " + p.host.Name + " and " + p.node.Name }

// aPair takes the link of a host and a master.
func (j job) aPair(ctx context.Context) (p pair, give func(), found bool) {
	var candidates []pair
	for _, h := range j.stage.Hosts {
		for _, n := range j.masters(ctx) {
			candidates = append(candidates, pair{h, n})
		}
	}
	return choose(j, candidates, func(p pair) []string { return []string{p.link()} })
}

// onPair has what goes between a host and a master cut.
func (j job) onPair(ctx context.Context, ways func(pair) []way, meanwhile func(context.Context, *stage.Node)) error {
	p, give, found := j.aPair(ctx)
	if !found {
		return nil
	}
	defer give()
	return j.cut(ctx, p.target(), ways(p), func(ctx context.Context) { meanwhile(ctx, p.node) })
}

func nothing(context.Context, *stage.Node) {}

func cutRequests(ctx context.Context, j job) error {
	return j.onPair(ctx, func(p pair) []way { return []way{{p.host, p.node}} }, nothing)
}

func cutReplies(ctx context.Context, j job) error {
	return j.onPair(ctx, func(p pair) []way { return []way{{p.node, p.host}} }, nothing)
}

// loseReplies has commands executed whose replies never come: TCP would send them again after the cut, so the connections end before.
func loseReplies(ctx context.Context, j job) error {
	return j.onPair(ctx, func(p pair) []way { return []way{{p.node, p.host}} }, j.hangUp)
}

// hangUp closes a node's connections. One that does not answer gives no replies either.
func (f *field) hangUp(ctx context.Context, n *stage.Node) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = f.stage.DropClients(ctx, n)
}

// loseRepliesAgain does that once a second or so: what had no reply is sent again in time, and has one then.
func loseRepliesAgain(ctx context.Context, j job) error {
	p, give, found := j.aPair(ctx)
	if !found {
		return nil
	}
	defer give()
	return j.strike(ctx, blow{target: p.target(), begin: func(ctx context.Context) error {
		for end := time.Now().Add(j.Long); time.Until(end) > 0 && ctx.Err() == nil; pause(ctx, 600*time.Millisecond) {
			heal := j.stage.Cut(p.node, p.host)
			pause(ctx, 400*time.Millisecond)
			j.hangUp(ctx, p.node)
			heal()
		}
		return nil
	}})
}

// cutOff cuts a host off from all of Redis.
func cutOff(ctx context.Context, j job) error {
	nodes := slices.Concat(j.stage.Nodes, j.stage.Sentinels)
	h, give, found := choose(j, j.stage.Hosts, func(h *stage.Host) (links []string) {
		for _, n := range nodes {
			links = append(links, pair{h, n}.link())
		}
		return links
	})
	if !found {
		return nil
	}
	defer give()
	var ways []way
	for _, n := range nodes {
		ways = append(ways, both(h, n)...)
	}
	return j.cut(ctx, h.Name, ways, nil)
}

// toReceivers has what goes between a host and the receivers cut.
func (j job) toReceivers(ctx context.Context, ways func(*stage.Host) []way) error {
	h, give, found := choose(j, j.stage.Hosts, func(h *stage.Host) []string { return []string{"receivers of " + h.Name} })
	if !found {
		return nil
	}
	defer give()
	return j.cut(ctx, h.Name, ways(h), nil)
}

func cutFromReceivers(ctx context.Context, j job) error {
	return j.toReceivers(ctx, func(h *stage.Host) []way { return both(h, stage.Harness) })
}

func cutRepliesOfReceivers(ctx context.Context, j job) error {
	return j.toReceivers(ctx, func(h *stage.Host) []way { return []way{{stage.Harness, h}} })
}

// cutReplica cuts a replica off from the masters, but not from those who judge whether these live.
func cutReplica(ctx context.Context, j job) error {
	masters := j.masters(ctx)
	n, give, found := choose(j, j.replicas(ctx), func(n *stage.Node) []string { return []string{"links of " + n.Name} })
	if !found {
		return nil
	}
	defer give()
	var ways []way
	for _, m := range masters {
		ways = append(ways, both(n, m)...)
	}
	return j.cut(ctx, n.Name, ways, nil)
}

func (j job) slow(ctx context.Context, name string, p stage.Place) error {
	give, taken := j.take("speed of " + name)
	if !taken {
		return nil
	}
	defer give()
	return j.strike(ctx, blow{
		target: name,
		begin:  func(context.Context) error { return j.stage.Slow(p, true) },
		end:    func(context.Context) error { return j.stage.Slow(p, false) },
	})
}

func slowHost(ctx context.Context, j job) error {
	h := j.stage.Hosts[j.Pick%uint64(len(j.stage.Hosts))]
	return j.slow(ctx, h.Name, h)
}

func slowNode(ctx context.Context, j job) error {
	n := j.stage.Nodes[j.Pick%uint64(len(j.stage.Nodes))]
	return j.slow(ctx, n.Name, n)
}
