// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package stage is the world in which the proof torments Picket: three hosts with the real daemon, and real Redis servers, each in a
// network namespace of its own, on one machine. Daemons and servers are processes that can be killed, frozen and started again; the
// links between them can be cut in each direction, or made slow; disks can be full; the clocks of the Redis servers can be stepped. It
// needs root, Linux, Debian's redis-server, iproute2, util-linux, e2fsprogs, and gcc for the clocks.
//
// A program calls Enter first, which puts it into PID, mount and network namespaces. All that it starts ends with it, in whatever way
// it ends.
//
// # The network
//
// The harness is the router. Each place has a link to it of its own; a cut is a rule of the router that drops silently what one place
// sends to another, so requests and replies can be cut apart. The harness' own link to a node is never cut: Do, Master and what else
// the harness asks reach every node that lives.
//
// # What Redis keeps
//
// Each server has its append-only file and writes it before it answers: one that is killed and started again has lost nothing. Replication
// is not synchronous, so a replica that takes over by itself may lack what its master confirmed, whatever redis.wait_replicas says, which
// is about grants and accepted notifications alone. Who wants a history in which nothing confirmed is lost sets Options.Patience
// so long that no replica takes over by itself; Failover and MoveSlot are safe there, too, because the master takes no writes until the
// new one has all. LoseWrites, FlushAll and Restore lose writes, and so may every kill, freeze or cut of a master that lasts longer than
// Patience.
//
// # Clocks
//
// StepClock moves the wall clock of a redis-server, by which keys expire. The daemons' own wall clock is the machine's: a Go program
// asks the kernel's vDSO, where nothing can stand between.
//
// # Disks
//
// A daemon's state is on a small ext4 in memory. fsync costs nothing there, and what was written outlives the daemon.
package stage
