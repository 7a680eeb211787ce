// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/picketd/picket/proof/stage"
)

// onNode has something done to one of the nodes.
func (j job) onNode(ctx context.Context, nodes []*stage.Node, things func(*stage.Node) []string, what func(*stage.Node) blow) error {
	n, give, found := choose(j, nodes, things)
	if !found {
		return nil
	}
	defer give()
	b := what(n)
	b.target = n.Name
	return j.strike(ctx, b)
}

func processOf(n *stage.Node) []string { return []string{process(n.Name)} }

func kill(n *stage.Node) blow   { return blow{begin: plain(n.Kill), end: n.Start} }
func freeze(n *stage.Node) blow { return blow{begin: plain(n.Freeze), end: plain(n.Thaw)} }

// ofMaster is what a fault has in hand that ends or stops a master: where that leads to a failover, nothing else may do so meanwhile.
func (j job) ofMaster(n *stage.Node) []string {
	if j.kind.Loses {
		return []string{roles, process(n.Name)}
	}
	return processOf(n)
}

func killMaster(ctx context.Context, j job) error {
	return j.onNode(ctx, j.masters(ctx), j.ofMaster, kill)
}

func freezeMaster(ctx context.Context, j job) error {
	return j.onNode(ctx, j.masters(ctx), j.ofMaster, freeze)
}

func killReplica(ctx context.Context, j job) error {
	return j.onNode(ctx, j.replicas(ctx), processOf, kill)
}

func killSentinel(ctx context.Context, j job) error {
	return j.onNode(ctx, j.stage.Sentinels, processOf, kill)
}

func freezeSentinel(ctx context.Context, j job) error {
	return j.onNode(ctx, j.stage.Sentinels, processOf, freeze)
}

func closeConnections(ctx context.Context, j job) error {
	none := func(*stage.Node) []string { return nil }
	return j.onNode(ctx, j.stage.Nodes, none, func(n *stage.Node) blow {
		return blow{begin: func(ctx context.Context) error { return j.stage.DropClients(ctx, n) }}
	})
}

func forgetScripts(ctx context.Context, j job) error {
	none := func(*stage.Node) []string { return nil }
	return j.onNode(ctx, j.masters(ctx), none, func(n *stage.Node) blow { return blow{begin: does(n, "SCRIPT", "FLUSH")} })
}

func shortMemory(ctx context.Context, j job) error {
	memory := func(n *stage.Node) []string { return []string{"memory of " + n.Name} }
	return j.onNode(ctx, j.masters(ctx), memory, func(n *stage.Node) blow {
		return blow{begin: does(n, "CONFIG", "SET", "maxmemory", "1"), end: does(n, "CONFIG", "SET", "maxmemory", "0")}
	})
}

func does(n *stage.Node, args ...any) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := n.Do(ctx, args...)
		return err
	}
}

// onShard has something done that the stage chooses the node for.
func (j job) onShard(ctx context.Context, b blow) error {
	give, taken := j.take(roles)
	if !taken {
		return nil
	}
	defer give()
	return j.strike(ctx, b)
}

func failOver(ctx context.Context, j job) error {
	return j.onShard(ctx, blow{begin: j.planFailover})
}

func loseWrites(ctx context.Context, j job) error {
	return j.onShard(ctx, blow{begin: func(ctx context.Context) error {
		_, err := j.stage.LoseWrites(ctx, j.Long)
		return err
	}})
}

// loseUnwaited leaves all nodes to itself, so that no replica comes back without what it had.
func loseUnwaited(ctx context.Context, j job) error {
	var things []string
	for _, n := range j.stage.Nodes {
		things = append(things, processOf(n)...)
	}
	give, taken := j.take(things...)
	if !taken {
		return nil
	}
	defer give()
	return j.onShard(ctx, blow{begin: func(ctx context.Context) error {
		_, err := j.stage.LoseUnwaited(ctx, j.Long)
		return err
	}})
}

// moveSlot has a slot of a Cluster between two masters for as long.
func moveSlot(ctx context.Context, j job) error {
	return j.onShard(ctx, blow{begin: func(ctx context.Context) error { return j.stage.MoveSlot(ctx, j.Long) }})
}

func flushAll(ctx context.Context, j job) error { return j.onShard(ctx, blow{begin: j.stage.FlushAll}) }

// olderDump has Redis fall back to what it had as long before. The fault is only when it falls.
func olderDump(ctx context.Context, j job) error {
	give, taken := j.take("dump")
	if !taken {
		return nil
	}
	defer give()
	if err := j.stage.Dump(ctx); err != nil {
		return nil //nolint:nilerr // a node that is away cannot be asked for a dump
	}
	pause(ctx, j.Long)
	return j.onShard(ctx, blow{detail: fmt.Sprint(j.Long, " old"), begin: j.stage.Restore})
}

// stepClock sets a node's clock by 1 s to 1 min, and in the end back by as much.
func stepClock(sign time.Duration) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		d := sign * time.Duration(float64(time.Second)*math.Pow(60, float64(j.Pick%1000)/1000)).Round(time.Millisecond)
		clock := func(n *stage.Node) []string { return []string{"clock of " + n.Name} }
		return j.onNode(ctx, j.stage.Nodes, clock, func(n *stage.Node) blow {
			return blow{
				detail: d.String(),
				begin:  func(context.Context) error { return n.StepClock(d) },
				end:    func(context.Context) error { return n.StepClock(-d) },
			}
		})
	}
}
