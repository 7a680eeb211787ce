// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/picketd/picket/proof/nemesis"
)

// topologies are the set-ups of Redis.
var topologies = []string{"standalone", "sentinel", "cluster"}

// plan is a campaign: which histories are made, and where they are left.
type plan struct {
	histories, atOnce    int
	long                 time.Duration
	seed                 uint64
	topologies, profiles []string
	picket, mutation     string
	out                  string
	keep                 bool // the histories in which nothing was found, too
}

// runCampaign makes many histories.
func runCampaign(ctx context.Context, args []string) (bool, error) {
	var p plan
	flags := flag.NewFlagSet("proof campaign", flag.ExitOnError)
	flags.IntVar(&p.histories, "histories", 300, "how many")
	flags.IntVar(&p.atOnce, "at-once", 4, "how many at the same time")
	flags.DurationVar(&p.long, "time", time.Minute, "how long faults befall each")
	flags.Uint64Var(&p.seed, "seed", 1, "the first one's seed; the next ones' follow")
	some := oneOf(flags, "topologies", topologies, "on what")
	kinds := oneOf(flags, "profiles", nemesis.Profiles(), "which faults")
	flags.StringVar(&p.picket, "picket", "bin/picket", "the program")
	flags.StringVar(&p.out, "out", "", "the folder for results and for histories in which something was found; a new one below /tmp")
	flags.BoolVar(&p.keep, "keep", false, "keep all histories")
	_ = flags.Parse(args)
	p.topologies, p.profiles = *some, *kinds
	var err error
	if p.out, err = folder(p.out); err != nil {
		return false, err
	}
	sum, err := p.make(ctx, func(r *result) bool { return true })
	if err != nil {
		return false, err
	}
	sum.print(os.Stdout)
	fmt.Println("all is in", p.out)
	return sum.right(), nil
}

// make makes the histories, atOnce at the same time, until on says false or ctx ends. Those that are under way then come to their end.
func (p *plan) make(ctx context.Context, on func(*result) bool) (*summary, error) {
	sum := newSummary()
	var (
		mu   sync.Mutex // guards sum, last and what on does
		last = p.histories
		wg   sync.WaitGroup
	)
	next := make(chan int)
	for range p.atOnce {
		wg.Go(func() {
			for i := range next {
				r := p.one(i)
				mu.Lock()
				if i < last {
					sum.add(r)
					fmt.Printf("%d/%d %s\n", sum.histories+sum.failed, p.histories, r.line())
					if !on(r) {
						last = i
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range p.histories {
		mu.Lock()
		enough := i >= last || ctx.Err() != nil
		mu.Unlock()
		if enough {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return sum, nil
}

// one makes the history with that number, in a process of its own.
func (p *plan) one(i int) *result {
	topology, profile := p.topologies[i%len(p.topologies)], p.profiles[i/len(p.topologies)%len(p.profiles)]
	seed := p.seed + uint64(i)
	failed := func(err error) *result {
		r := &result{Error: err.Error()}
		r.Setup.Topology, r.Setup.Profile, r.Setup.Seed, r.Setup.Mutation = topology, profile, seed, p.mutation
		return r
	}
	dir := filepath.Join(p.out, fmt.Sprintf("%s-%s-%d", topology, profile, seed))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(err)
	}
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	cmd := exec.Command(self, "run", "-topology", topology, "-profile", profile, "-seed", strconv.FormatUint(seed, 10),
		"-time", p.long.String(), "-picket", p.picket, "-mutation", p.mutation, "-out", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // no Ctrl-C of a terminal's
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	ended := cmd.Run()
	if err := os.WriteFile(filepath.Join(dir, "output.txt"), said.Bytes(), 0o600); err != nil {
		return failed(err)
	}
	r, err := readResult(dir)
	if err != nil {
		return failed(fmt.Errorf("%w; proof run ended with %v and said: %.300s", err, ended, said))
	}
	if !p.keep && r.Error == "" && len(r.Violations) == 0 {
		_ = os.Remove(filepath.Join(dir, historyFile))
	}
	return r
}
