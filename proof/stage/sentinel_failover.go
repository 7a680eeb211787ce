// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// pause is how long a master takes no writes without being told again.
const pause = 10 * time.Second

// failover sees to it that nothing is lost, which Sentinels do not: the master takes no writes from before a replica is chosen
// until the master is a replica itself.
func (t *sentinel) failover(ctx context.Context, _ int, master *Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failoverLimit)
	defer cancel()
	hold := func() error {
		_, err := master.Do(ctx, "CLIENT", "PAUSE", pause.Milliseconds(), "WRITE")
		return err
	}
	if err := hold(); err != nil {
		return fmt.Errorf("%s: %w", master.Name, err)
	}
	defer func() { _, _ = master.Do(context.WithoutCancel(ctx), "CLIENT", "UNPAUSE") }()
	for _, replica := range t.nodes {
		if replica != master && !hasAll(ctx, replica, master) {
			return fmt.Errorf("%s is not in step", replica.Name)
		}
	}
	sentinels := t.able(ctx)
	if len(sentinels) == 0 {
		return errors.New("no Sentinel fails over now: each is in TILT mode")
	}
	sentinel := sentinels[t.draw(len(sentinels))]
	if _, err := sentinel.Do(ctx, "SENTINEL", "FAILOVER", masterName); err != nil {
		return fmt.Errorf("%s: %w", sentinel.Name, err)
	}
	for ctx.Err() == nil {
		for _, n := range t.nodes {
			if n == master || !n.Master(ctx) {
				continue
			}
			if err := t.follow(ctx, master, n); err != nil {
				return err
			}
			return await(ctx, "the Sentinels do not agree", func() bool { return t.master(ctx, 0) == n })
		}
		if err := hold(); err != nil {
			return err
		}
		time.Sleep(pollEvery)
	}
	return errors.New("no replica becomes the master")
}

// able are the Sentinels that are not in TILT mode, as one is for 30 s after it was frozen: it begins the failover when that is over.
func (t *sentinel) able(ctx context.Context) (able []*Node) {
	for _, n := range t.sentinels {
		if n.info(ctx, "sentinel_tilt", "INFO", "sentinel") == "0" {
			able = append(able, n)
		}
	}
	return able
}

// hasAll waits for a short time until a replica has what its master had written.
func hasAll(ctx context.Context, replica, master *Node) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	wanted := offset(ctx, master, "master_repl_offset")
	return wanted > 0 && await(ctx, "", func() bool {
		return replica.inStep(ctx) && offset(ctx, replica, "slave_repl_offset") >= wanted
	}) == nil
}

func offset(ctx context.Context, n *Node, field string) int {
	at, _ := strconv.Atoi(n.info(ctx, field, "INFO", "replication"))
	return at
}

// follow does what the Sentinels do, too, but up to some ten seconds later: they look whether the old master knows it by itself.
func (t *sentinel) follow(ctx context.Context, old, master *Node) error {
	if _, err := old.Do(ctx, "REPLICAOF", master.link.ip, redisPort); err != nil {
		return err
	}
	return old.dropClients(ctx)
}
