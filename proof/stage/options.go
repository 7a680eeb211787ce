// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"time"

	"github.com/picketd/picket/proof/history"
)

// private is where sockets, disks and data are: in memory, and the world's own.
const private = "/run/stage"

// Options say which world is wanted.
type Options struct {
	Topology     string // standalone, sentinel or cluster
	Dir          string // where logs are written; it exists
	Picket       string // the path of the command picket
	Seed         uint64
	TTL          time.Duration // of a lock: lock.ttl
	Log          *history.Log  // gets the records of the audit, and of daemons that begin and end
	Channels     []Channel
	WaitReplicas int // redis.wait_replicas
	// Patience is how long a master may be silent before a replica takes over; 0: 1.5 s. What a master confirmed and a replica had not
	// yet is lost then. Where nothing may be lost, make it longer than every fault, and than a busy machine stands still: a minute.
	Patience time.Duration
	Clocks   bool   // the clocks of the Redis servers can be stepped; needs gcc
	Config   string // TOML to append to each daemon's configuration: tables that the stage does not write, such as claims and tickets
}

// defaultPatience is for Options.Patience.
const defaultPatience = 1500 * time.Millisecond

// Channel is a webhook that each daemon has. Retries are quick: the first after 200 ms, none later than 2 s.
type Channel struct {
	Name       string
	URL        string // HOST in it becomes the name of the daemon's host
	AtMostOnce bool
	Timeout    time.Duration // of one attempt
}
