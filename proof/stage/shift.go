// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"time"
)

// Failover has a replica that has all writes become the master, of a shard that the seed chooses. Nothing is lost. While it goes on, no
// node can be killed, frozen or cut off from another: those calls wait. An error: it did not come about, because of other faults.
func (s *Stage) Failover(ctx context.Context) error {
	s.shifting.Lock()
	defer s.shifting.Unlock()
	s.still.Lock()
	defer s.still.Unlock()
	shard := s.draw(s.Shards())
	master := s.Master(ctx, shard)
	if master == nil {
		return errNoMaster
	}
	return s.redis.failover(ctx, shard, master)
}

// MoveSlot moves a slot that has keys from one master of a Cluster to another, chosen by the seed. For so long it is between both.
// While it goes on, no node can be killed, frozen or cut off from another: those calls wait. A move that fails half-way is ended by
// the next call, or by Mend.
func (s *Stage) MoveSlot(ctx context.Context, long time.Duration) error {
	c, is := s.redis.(*cluster)
	if !is {
		return errors.New("only a Cluster has slots")
	}
	s.shifting.Lock()
	defer s.shifting.Unlock()
	s.still.Lock()
	defer s.still.Unlock()
	return c.moveSlot(ctx, long)
}

// Mend ends every fault that the stage can make, but steps of clocks and the loss of a host, and returns when all other daemons and the servers
// run and are in step.
func (s *Stage) Mend(ctx context.Context) error {
	s.shifting.Lock()
	defer s.shifting.Unlock()
	s.router.healAll()
	for _, n := range s.redis.everything() {
		n.Thaw()
		if err := n.Start(ctx); err != nil {
			return err
		}
		if err := s.Slow(n, false); err != nil {
			return err
		}
	}
	for _, h := range s.Hosts {
		h.Thaw()
		if err := errors.Join(s.Slow(h, false), h.MendDisk()); err != nil {
			return err
		}
	}
	if c, is := s.redis.(*cluster); is {
		if err := await(ctx, "the slot stays half-way", func() bool { return c.endMove(ctx) == nil }); err != nil {
			return err
		}
	}
	if err := s.awaitRedis(ctx); err != nil {
		return err
	}
	return s.startHosts(ctx)
}
