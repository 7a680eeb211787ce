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
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/proof/history"
)

// Stage is a world that runs.
type Stage struct {
	Hosts     []*Host // host-a, host-b, host-c
	Nodes     []*Node // the servers that hold data
	Sentinels []*Node

	options Options
	log     *history.Log
	router  *router
	redis   topology
	journal *journal
	pids    sync.Map // of daemons: int to the host's name
	stop    sync.Once

	chance   sync.Mutex
	rng      *rand.Rand   // guarded by chance
	shifting sync.Mutex   // is held while roles, slots or data are shifted on purpose
	dumped   int          // the shard that was; -1: none; guarded by shifting
	still    sync.RWMutex // is held for writing while no node may be disturbed
}

// Start makes the world, and returns when everything is ready. An error says what is missing. The process must be inside: see Enter.
func Start(ctx context.Context, o Options) (*Stage, error) {
	if os.Getenv(role) != "inside" {
		return nil, errors.New("there are no namespaces: call Enter first")
	}
	if err := Missing(); err != nil {
		return nil, err
	}
	s := &Stage{
		options: o, log: o.Log.As("stage"), router: &router{cuts: map[int]cut{}},
		rng: rand.New(rand.NewPCG(o.Seed, 0)), dumped: -1,
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
	if s.journal, err = newJournal(o.Log, &s.pids); err != nil {
		return err
	}
	if o.Patience == 0 {
		s.options.Patience = defaultPatience
	}
	if o.Clocks {
		if err := compileClock(ctx); err != nil {
			return err
		}
	}
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		l, err := s.router.add(ctx, name)
		if err != nil {
			return err
		}
		h, err := newHost(ctx, l, s.options, s.log, &s.pids)
		if err != nil {
			return err
		}
		s.Hosts = append(s.Hosts, h)
	}
	if err := s.startRedis(ctx); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := h.configure(s.options, s.redis.told()); err != nil {
			return err
		}
	}
	return s.startHosts(ctx)
}

func (s *Stage) startRedis(ctx context.Context) error {
	at := site{s.options, s.router, &s.still, s.draw}
	switch s.options.Topology {
	case "standalone":
		s.redis = &standalone{site: at}
	case "sentinel":
		s.redis = &sentinel{site: at}
	case "cluster":
		s.redis = &cluster{site: at}
	default:
		return fmt.Errorf("there is no topology %q", s.options.Topology)
	}
	if err := s.redis.start(ctx); err != nil {
		return err
	}
	all, servers := s.redis.everything(), len(slices.Concat(s.redis.shards()...))
	s.Nodes, s.Sentinels = all[:servers], all[servers:]
	return s.awaitRedis(ctx)
}

func (s *Stage) awaitRedis(ctx context.Context) error {
	return await(ctx, "Redis is not settled", func() bool { return s.redis.settled(ctx) })
}

// Shards is how many masters there are when all is well.
func (s *Stage) Shards() int { return len(s.redis.shards()) }

// Master is the node that serves a shard now, as most know it; nil when none does.
func (s *Stage) Master(ctx context.Context, shard int) *Node { return s.redis.master(ctx, shard) }

// Living are the hosts that are not lost.
func (s *Stage) Living() []*Host {
	return slices.DeleteFunc(slices.Clone(s.Hosts), (*Host).Lost)
}

// startHosts starts the daemons that do not run, and waits until all are ready.
func (s *Stage) startHosts(ctx context.Context) error {
	failed, living := make(chan error), s.Living()
	for _, h := range living {
		go func() {
			err := h.Start(ctx)
			if err == nil {
				err = h.await(ctx, "/readyz?verbose")
			}
			failed <- err
		}()
	}
	var all []error
	for range living {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// stopLimit is for a daemon that stops in an orderly way, which brings the rest of its audit to the journal.
const stopLimit = 5 * time.Second

// Stop ends everything that Start and the methods started. It may be called twice.
func (s *Stage) Stop() {
	s.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		var stopping sync.WaitGroup
		for _, h := range s.Hosts {
			stopping.Go(func() {
				_ = h.Terminate(ctx)
				h.Kill()
				h.disk.remove()
			})
		}
		stopping.Wait()
		if s.redis != nil {
			for _, n := range s.redis.everything() {
				n.close()
			}
		}
		if s.journal != nil {
			s.journal.close()
		}
		s.router.remove(context.Background())
		_ = os.RemoveAll(private)
	})
}

// Cut drops silently what goes from one place to the other, until heal is called. heal may be called twice.
func (s *Stage) Cut(from, to Place) (heal func()) {
	_, a := from.(*Node)
	_, b := to.(*Node)
	if a && b {
		s.still.RLock()
		defer s.still.RUnlock()
	}
	return s.router.drop(from.at(), to.at())
}

// Slow makes a place's link slow in both directions, or as fast as it was.
func (s *Stage) Slow(p Place, on bool) error { return s.router.slow(p.at(), on) }

// DropClients closes all connections that clients have to a node.
func (s *Stage) DropClients(ctx context.Context, n *Node) error {
	return n.dropClients(ctx)
}

// draw is a number below n by chance.
func (s *Stage) draw(n int) int {
	s.chance.Lock()
	defer s.chance.Unlock()
	return s.rng.IntN(n)
}
