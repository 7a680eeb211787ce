// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// LoseWrites has a replica become the master that lacks what the old master confirmed for about so long, of a shard that the seed
// chooses, and returns when the old master follows it. detail says what was done. It demands that masters are given up after some
// seconds (Options.Patience).
func (s *Stage) LoseWrites(ctx context.Context, long time.Duration) (detail string, err error) {
	return s.loseWrites(ctx, []way{s.isolate, s.killBehind}[s.draw(2)], long)
}

// way is how a shard gets a master that lacks what the old one confirmed.
type way func(ctx context.Context, shard int, master *Node, long time.Duration) (detail string, err error)

func (s *Stage) loseWrites(ctx context.Context, how way, long time.Duration) (detail string, err error) {
	s.shifting.Lock()
	defer s.shifting.Unlock()
	shard := s.draw(s.Shards())
	master := s.Master(ctx, shard)
	switch {
	case len(s.redis.shards()[shard]) == 1:
		return "", errNoReplica
	case master == nil:
		return "", errNoMaster
	}
	detail, err = how(ctx, shard, master, long)
	if err != nil {
		return detail, err
	}
	if n := s.Master(ctx, shard); n != nil && n != master {
		if err := s.redis.follow(ctx, master, n); err != nil {
			return detail, err
		}
	}
	return detail, await(ctx, master.Name+" does not follow the new master", func() bool {
		return master.inStep(ctx) && !master.Master(ctx)
	})
}

// isolate cuts a master off from all other servers, and a host, too: that goes on with the old master, the others with the new one.
func (s *Stage) isolate(ctx context.Context, shard int, master *Node, long time.Duration) (string, error) {
	host := s.Hosts[s.draw(len(s.Hosts))]
	detail := fmt.Sprintf("%s and %s are cut off from the other servers", master.Name, host.Name)
	for _, n := range s.redis.everything() {
		if n == master {
			continue
		}
		for _, p := range []Place{master, host} {
			defer s.Cut(p, n)()
			defer s.Cut(n, p)()
		}
	}
	if err := s.awaitOther(ctx, shard, master); err != nil {
		return detail, err
	}
	time.Sleep(long)
	return detail, nil
}

// killBehind cuts a master off from its replicas alone, lets it confirm writes, and kills it before they get any of them.
func (s *Stage) killBehind(ctx context.Context, shard int, master *Node, long time.Duration) (string, error) {
	detail := fmt.Sprintf("%s is cut off from its replicas, and killed %s later", master.Name, long)
	var heal []func()
	for _, n := range s.redis.shards()[shard] {
		if n != master {
			heal = append(heal, s.Cut(master, n), s.Cut(n, master))
		}
	}
	time.Sleep(long)
	master.Kill()
	err := s.awaitOther(ctx, shard, master)
	for _, end := range heal { // not before, as the kernel would bring them what the dead had sent
		end()
	}
	return detail, errors.Join(err, master.Start(ctx))
}

// LoseUnwaited is LoseWrites of what no replica has: all of them have what came before, as far as was waited for it.
func (s *Stage) LoseUnwaited(ctx context.Context, long time.Duration) (detail string, err error) {
	return s.loseWrites(ctx, s.killInStep, long)
}

// killInStep is killBehind of a master whose replicas all had what it had written.
func (s *Stage) killInStep(ctx context.Context, shard int, master *Node, long time.Duration) (string, error) {
	for _, n := range s.redis.shards()[shard] {
		if n != master && !hasAll(ctx, n, master) {
			return "", fmt.Errorf("%s is not in step", n.Name)
		}
	}
	return s.killBehind(ctx, shard, master, long)
}

// awaitOther waits until another node serves a shard.
func (s *Stage) awaitOther(ctx context.Context, shard int, master *Node) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return await(ctx, "no replica becomes the master", func() bool {
		n := s.Master(ctx, shard)
		return n != nil && n != master
	})
}

// FlushAll empties the master of a shard that the seed chooses, and with it its replicas.
func (s *Stage) FlushAll(ctx context.Context) error {
	master := s.Master(ctx, s.draw(s.Shards()))
	if master == nil {
		return errNoMaster
	}
	_, err := master.Do(ctx, "FLUSHALL")
	return err
}

// backup is where Dump puts the append-only file of a shard.
func backup(shard int) string { return filepath.Join(private, fmt.Sprint("dump-", shard)) }

// appended is where a node has its append-only file.
func (n *Node) appended() string { return filepath.Join(n.dir, "appendonlydir") }

// Dump remembers the data of a shard that the seed chooses, instead of those of the Dump before.
func (s *Stage) Dump(ctx context.Context) error {
	s.shifting.Lock()
	defer s.shifting.Unlock()
	shard := s.draw(s.Shards())
	master := s.Master(ctx, shard)
	if master == nil {
		return errNoMaster
	}
	if err := await(ctx, master.Name+" rewrites its file", func() bool {
		return master.info(ctx, "aof_rewrite_in_progress", "INFO", "persistence") == "0"
	}); err != nil {
		return err
	}
	s.dumped = shard
	// What is being appended may be cut off at its end: a server that was killed leaves the same.
	return replace(backup(shard), master.appended())
}

// Restore gives a shard the data of the last Dump: its master is killed, and started again with those. What was written since is lost,
// if the master is back before a replica takes over.
func (s *Stage) Restore(ctx context.Context) error {
	s.shifting.Lock()
	defer s.shifting.Unlock()
	if s.dumped < 0 {
		return errors.New("there is no dump")
	}
	master := s.Master(ctx, s.dumped)
	if master == nil {
		return errNoMaster
	}
	master.Kill()
	return errors.Join(replace(master.appended(), backup(s.dumped)), master.Start(ctx))
}

// replace makes a folder the copy of another one.
func replace(dir, from string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(from))
}
