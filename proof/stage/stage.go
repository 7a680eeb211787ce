// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/picketd/picket/proof/history"
)

var errNotYet = errors.New("the stage cannot do that yet")

// Options say which world is wanted.
type Options struct {
	Topology     string // standalone, sentinel or cluster
	Dir          string // where logs are written, in a folder for each place; it exists
	Picket       string // the path of the command picket
	Seed         uint64
	TTL          time.Duration // of a lock: lock.ttl
	Log          *history.Log  // gets the records of the audit, and of daemons that begin and end
	Channels     []Channel
	WaitReplicas int    // redis.wait_replicas
	Clocks       bool   // the clocks of the Redis servers can be stepped; needs gcc
	Config       string // TOML to append to each daemon's configuration; it may not name a table that the stage writes: redis, lock, socket, outbox
}

// Channel is a webhook that each daemon has. Retries are quick: the first after 200 ms, none later than 2 s.
type Channel struct {
	Name       string
	URL        string // HOST in it becomes the name of the daemon's host
	AtMostOnce bool
	Timeout    time.Duration
}

// Stage is a world that runs.
type Stage struct {
	Hosts     []*Host
	Nodes     []*Node // the servers that hold data
	Sentinels []*Node
	Address   string // the harness' own IP address, where receivers listen; all hosts reach it
}

// Place is a host or a node: what has a link of its own.
type Place interface{ link() string }

// Enter re-executes the program as root in PID, mount and network namespaces of its own.
func Enter() error { return errNotYet }

// Start makes the world, and returns when everything is ready. An error says what is missing.
func Start(ctx context.Context, o Options) (*Stage, error) { return nil, errNotYet }

// Stop kills everything in the world. It may be called twice.
func (s *Stage) Stop() {}

// Cut drops silently what goes from one place to the other, until heal is called. heal may be called twice.
func (s *Stage) Cut(from, to Place) (heal func()) { return func() {} }

// Slow makes a place's link slow in both directions, or as fast as it was.
func (s *Stage) Slow(p Place, on bool) error { return errNotYet }

// DropClients closes all connections that clients have to a node, without a word.
func (s *Stage) DropClients(ctx context.Context, n *Node) error { return errNotYet }

// Failover has a replica, which has all writes, become the master: of a shard that the seed chooses. Nothing is lost.
func (s *Stage) Failover(ctx context.Context) error { return errNotYet }

// LoseWrites has a replica become the master that lacks what the old master confirmed for some time. It takes that long, and heals all
// before it returns. detail says what was done.
func (s *Stage) LoseWrites(ctx context.Context, long time.Duration) (detail string, err error) {
	return "", errNotYet
}

// FlushAll empties a shard's master, and with it its replicas.
func (s *Stage) FlushAll(ctx context.Context) error { return errNotYet }

// Dump remembers the data of a shard, as Restore puts them back later.
func (s *Stage) Dump(ctx context.Context) error { return errNotYet }

// Restore gives the shard the data of the last Dump. What was written since is lost.
func (s *Stage) Restore(ctx context.Context) error { return errNotYet }

// Master is the node that serves a shard now; nil when none says so. A standalone server and Sentinel have shard 0 alone, a Cluster 0 to 2.
func (s *Stage) Master(ctx context.Context, shard int) *Node { return nil }

// Host is a daemon in a network namespace of its own.
type Host struct {
	Name   string // host-a, host-b, host-c
	Socket string // the daemon's
	Dir    string // its logs
}

func (h *Host) link() string { return h.Name }

// Start starts the daemon, and waits until its socket answers. One that runs is left alone.
func (h *Host) Start(ctx context.Context) error { return errNotYet }

// Kill ends the daemon with SIGKILL, and waits for its end. One that does not run is left alone.
func (h *Host) Kill() {}

// Terminate ends the daemon with SIGTERM, and waits for its end.
func (h *Host) Terminate(ctx context.Context) error { return errNotYet }

// Freeze stops the daemon with SIGSTOP until Thaw.
func (h *Host) Freeze() {}

// Thaw lets the daemon go on.
func (h *Host) Thaw() {}

// Running reports whether the daemon's process is there; a frozen one is.
func (h *Host) Running() bool { return false }

// PID is the daemon's process; 0 when there is none.
func (h *Host) PID() int { return 0 }

// Command is a program on this host, in its network, with PICKET_SOCKET set. The caller starts it.
func (h *Host) Command(name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

// FillDisk fills the file system of the daemon's state, until MendDisk.
func (h *Host) FillDisk() error { return errNotYet }

// ReadOnlyDisk has the file system of the daemon's state refuse writes, until MendDisk.
func (h *Host) ReadOnlyDisk() error { return errNotYet }

// MendDisk ends what FillDisk and ReadOnlyDisk did.
func (h *Host) MendDisk() error { return errNotYet }

// Node is a redis-server or a Sentinel in a network namespace of its own.
type Node struct {
	Name string // redis-1, sentinel-1
	Addr string // host:port
}

func (n *Node) link() string { return n.Name }

// Start starts the server with the data that it has, and waits until it answers. One that runs is left alone.
func (n *Node) Start(ctx context.Context) error { return errNotYet }

// Kill ends the server with SIGKILL, and waits for its end.
func (n *Node) Kill() {}

// Freeze stops the server with SIGSTOP until Thaw.
func (n *Node) Freeze() {}

// Thaw lets the server go on.
func (n *Node) Thaw() {}

// Running reports whether the server's process is there; a frozen one is.
func (n *Node) Running() bool { return false }

// Do sends a command over the harness' own link, which is never cut.
func (n *Node) Do(ctx context.Context, args ...any) (any, error) { return nil, errNotYet }

// StepClock sets the server's clock that much forward, or back; steps add up. It demands Options.Clocks.
func (n *Node) StepClock(d time.Duration) error { return errNotYet }

// Master reports whether the node says that it is a master.
func (n *Node) Master(ctx context.Context) bool { return false }
