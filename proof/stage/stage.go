// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

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
	WaitReplicas int    // redis.wait_replicas
	Clocks       bool   // the clocks of the Redis servers can be stepped; needs gcc
	Config       string // TOML to append to each daemon's configuration: tables that the stage does not write, such as claims and tickets
}

// Channel is a webhook that each daemon has. Retries are quick: the first after 200 ms, none later than 2 s.
type Channel struct {
	Name       string
	URL        string // HOST in it becomes the name of the daemon's host
	AtMostOnce bool
	Timeout    time.Duration // of one attempt
}

// Stage is a world that runs.
type Stage struct {
	Hosts     []*Host // host-a, host-b, host-c
	Nodes     []*Node // the servers that hold data
	Sentinels []*Node
	Address   string // the harness' own IP address, where receivers listen; all hosts reach it
	Harness   Place  // is at Address

	options Options
	log     *history.Log
	router  *router
	journal *journal
	pids    sync.Map // of daemons: int to the host's name
	stop    sync.Once

	chance   sync.Mutex
	rng      *rand.Rand // guarded by chance
	shifting sync.Mutex // is held while roles, slots or data are shifted on purpose
	dump     dump       // guarded by shifting
}

// Start makes the world, and returns when everything is ready. An error says what is missing. The process must be inside: see Enter.
func Start(ctx context.Context, o Options) (*Stage, error) {
	if os.Getenv(role) != "inside" {
		return nil, errors.New("there are no namespaces: call Enter first")
	}
	s := &Stage{
		Address: address, Harness: &harness{link{ip: address}}, options: o, log: o.Log.As("stage"),
		rng: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	redis.SetLogger(silence{}) // it would tell of each node that is away
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func (s *Stage) start(ctx context.Context) (err error) {
	o := s.options
	if err := os.MkdirAll(private, 0o755); err != nil {
		return err
	}
	if s.options.Picket, err = filepath.Abs(o.Picket); err != nil {
		return err
	}
	if s.options.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	if s.router, err = newRouter(ctx); err != nil {
		return err
	}
	if s.journal, err = newJournal(o.Log, &s.pids); err != nil {
		return err
	}
	if o.Clocks {
		if err := compileClock(ctx); err != nil {
			return err
		}
	}
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		h, err := s.newHost(ctx, name)
		if err != nil {
			return err
		}
		s.Hosts = append(s.Hosts, h)
	}
	switch o.Topology {
	case "standalone":
		err = s.startStandalone(ctx)
	case "sentinel":
		err = s.startSentinel(ctx)
	case "cluster":
		err = s.startCluster(ctx)
	default:
		err = fmt.Errorf("there is no topology %q", o.Topology)
	}
	if err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := h.configure(); err != nil {
			return err
		}
	}
	return s.startHosts(ctx)
}

// startHosts starts the daemons that do not run, and waits until all are ready.
func (s *Stage) startHosts(ctx context.Context) error {
	failed := make(chan error)
	for _, h := range s.Hosts {
		go func() {
			err := h.Start(ctx)
			if err == nil {
				err = h.await(ctx, "/readyz?verbose")
			}
			failed <- err
		}()
	}
	var all []error
	for range s.Hosts {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// Stop kills everything that Start and the methods started. It may be called twice.
func (s *Stage) Stop() {
	s.stop.Do(func() {
		for _, h := range s.Hosts {
			h.Kill()
			h.disk.remove()
		}
		for _, n := range s.all() {
			n.close()
		}
		if s.journal != nil {
			s.journal.close()
		}
		if s.router != nil {
			s.router.remove(context.Background())
		}
		_ = os.RemoveAll(private)
	})
}

// all are the nodes of both kinds.
func (s *Stage) all() []*Node { return append(append([]*Node{}, s.Nodes...), s.Sentinels...) }

// Mend ends every fault that the stage can make, and returns when all daemons and servers run and are in step.
func (s *Stage) Mend(ctx context.Context) error {
	s.router.healAll()
	for _, n := range s.all() {
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
	if err := s.awaitRedis(ctx); err != nil {
		return err
	}
	return s.startHosts(ctx)
}

// Cut drops silently what goes from one place to the other, until heal is called. heal may be called twice.
func (s *Stage) Cut(from, to Place) (heal func()) { return s.router.drop(from.at(), to.at()) }

// Slow makes a place's link slow in both directions, or as fast as it was.
func (s *Stage) Slow(p Place, on bool) error { return s.router.slow(p.at(), on) }

// DropClients closes all connections that clients have to a node.
func (s *Stage) DropClients(ctx context.Context, n *Node) error {
	_, err := n.Do(ctx, "CLIENT", "KILL", "TYPE", "normal")
	return err
}

// draw is a number below n by chance.
func (s *Stage) draw(n int) int {
	s.chance.Lock()
	defer s.chance.Unlock()
	return s.rng.IntN(n)
}
