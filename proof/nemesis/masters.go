// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/stage"
)

// roles is what a fault has in hand that decides which node is a master, or where slots are: one at a time.
const roles = "roles"

// masters are the nodes that serve shards now, as far as they are known.
func (f *field) masters(ctx context.Context) []*stage.Node {
	var all []*stage.Node
	for shard := range f.stage.Shards() {
		if n := f.master(ctx, shard); n != nil {
			all = append(all, n)
		}
	}
	return all
}

func (f *field) master(ctx context.Context, shard int) *stage.Node {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return f.stage.Master(ctx, shard)
}

// replicas are the nodes that say that they are.
func (f *field) replicas(ctx context.Context) []*stage.Node {
	var all []*stage.Node
	for _, n := range f.stage.Nodes {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		reply, _ := n.Do(ctx, "ROLE")
		cancel()
		if role, ok := reply.([]any); ok && len(role) > 0 && role[0] == "slave" {
			all = append(all, n)
		}
	}
	return all
}

const (
	lookEvery = 500 * time.Millisecond // at the masters
	settled   = 5 * time.Second        // after a planned failover everybody knows the new master
)

// planFailover has a master change on purpose. One that does not come about in time may come later, when nobody holds writes back.
func (f *field) planFailover(ctx context.Context) error {
	set := func(until time.Time) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.planned = until
	}
	set(time.Now().Add(mending))
	if err := f.stage.Failover(ctx); err != nil {
		set(time.Time{})
		return err
	}
	set(time.Now().Add(settled))
	return nil
}

// watchMasters writes down a failover that no plan made: on a busy machine a master may be silent for longer than its watchers bear. What
// its replica lacked is lost, at some time since it was seen last.
func (f *field) watchMasters(ctx context.Context) {
	type sight struct {
		node *stage.Node
		at   int64 // before it was looked for
	}
	seen := make([]sight, f.stage.Shards())
	for id := unplanned; pause(ctx, lookEvery); {
		for shard := range seen {
			was, at := seen[shard], history.Now()
			n := f.master(ctx, shard)
			if n == nil {
				continue
			}
			seen[shard] = sight{n, at}
			f.mu.Lock()
			planned := time.Now().Before(f.planned) || f.taken[roles]
			f.mu.Unlock()
			if was.node == nil || was.node == n || planned {
				continue
			}
			record := history.Fault{ID: id, Name: "unplanned failover", Target: was.node.Name, Loses: true, Detail: n.Name + " is master now"}
			over := record
			over.End = true
			f.log.Write(history.Record{At: was.at, Fault: &record})
			f.log.Write(history.Record{Fault: &over})
			id++
		}
	}
}

// unplanned is the first ID of faults that are in no plan.
const unplanned = 1_000_000
