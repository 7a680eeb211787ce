// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"time"
)

type dump struct{}

// Failover has a replica, which has all writes, become the master: of a shard that the seed chooses. Nothing is lost.
func (s *Stage) Failover(ctx context.Context) error {
	return errors.New("the stage cannot do that yet")
}

// LoseWrites has a replica become the master that lacks what the old master confirmed for some time. It takes that long, and heals all
// before it returns. detail says what was done.
func (s *Stage) LoseWrites(ctx context.Context, long time.Duration) (detail string, err error) {
	return "", errors.New("the stage cannot do that yet")
}

// FlushAll empties a shard's master, and with it its replicas.
func (s *Stage) FlushAll(ctx context.Context) error {
	return errors.New("the stage cannot do that yet")
}

// Dump remembers the data of a shard, as Restore puts them back later.
func (s *Stage) Dump(ctx context.Context) error { return errors.New("the stage cannot do that yet") }

// Restore gives the shard the data of the last Dump. What was written since is lost.
func (s *Stage) Restore(ctx context.Context) error { return errors.New("the stage cannot do that yet") }
