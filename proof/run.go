// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picketd/picket/proof/check"
	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/load"
	"github.com/picketd/picket/proof/nemesis"
	"github.com/picketd/picket/proof/stage"
)

// settleTime is how long all may take to come to rest after the faults: a sign of life and a lease run out, a breaker probes.
const settleTime = 4 * time.Minute

// ttl is of the locks: short, so that a minute holds many losses.
const ttl = 3 * time.Second

// one is what a history is made from.
type one struct {
	topology, profile string
	seed              uint64
	long              time.Duration
	picket, mutation  string
	out               string
}

// runOne makes one history and checks it.
func runOne(ctx context.Context, args []string) (bool, error) {
	var o one
	flags := flag.NewFlagSet("proof run", flag.ExitOnError)
	flags.StringVar(&o.topology, "topology", "standalone", "on what: standalone, sentinel or cluster")
	flags.StringVar(&o.profile, "profile", "kept", "which faults")
	flags.Uint64Var(&o.seed, "seed", 1, "which faults, and when, and what the agents do")
	flags.DurationVar(&o.long, "time", time.Minute, "how long there are faults")
	flags.StringVar(&o.picket, "picket", "bin/picket", "the program")
	flags.StringVar(&o.mutation, "mutation", "", "what is taken out of that program: a word for the history")
	flags.StringVar(&o.out, "out", "", "the folder for the history and what is found in it; a new one below /tmp")
	_ = flags.Parse(args)
	var err error
	if o.out, err = folder(o.out); err != nil {
		return false, err
	}
	os.Args = append(os.Args, "-out", o.out) // Enter runs this again
	for _, path := range []*string{&o.picket, &o.out} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return false, err
		}
		*path = abs
	}
	if err := stage.Enter(); err != nil {
		return false, err
	}
	began := time.Now()
	setup, failure := o.make(ctx)
	r := &result{Setup: setup}
	if failure != nil { // what there is of the history is judged all the same: it may say why nothing comes to rest
		r.Error = failure.Error()
		r.Setup.Topology, r.Setup.Profile, r.Setup.Seed, r.Setup.Mutation = o.topology, o.profile, o.seed, o.mutation
	}
	records, err := history.ReadFile(filepath.Join(o.out, historyFile))
	if err != nil {
		return false, err
	}
	r.Report = check.Check(records)
	if err := show(o.out, records, r.Report.Violations); err != nil {
		return false, err
	}
	r.TookMS = time.Since(began).Milliseconds()
	if err := r.write(o.out); err != nil {
		return false, err
	}
	r.print(os.Stdout)
	fmt.Println("all is in", o.out)
	return len(r.Violations) == 0, failure
}

// make makes the history.
func (o *one) make(ctx context.Context) (setup history.Setup, err error) {
	log, err := history.Open(filepath.Join(o.out, historyFile), "proof")
	if err != nil {
		return setup, err
	}
	defer log.Close()
	receivers, err := load.Receive(stage.Address, log.As("receiver"))
	if err != nil {
		return setup, err
	}
	defer receivers.Close()
	s, err := stage.Start(ctx, stage.Options{
		Topology: o.topology, Dir: filepath.Join(o.out, "stage"), Picket: o.picket, Seed: o.seed, TTL: ttl, Log: log,
		Channels: receivers.Channels(), WaitReplicas: o.waitReplicas(), Patience: o.patience(),
		Clocks: o.profile == "clock" || o.profile == "mixed",
	})
	if err != nil {
		return setup, err
	}
	defer s.Stop()
	if setup, err = s.Setup(ctx); err != nil {
		return setup, err
	}
	setup.Seed, setup.Profile, setup.Mutation, setup.LengthMS = o.seed, o.profile, o.mutation, o.long.Milliseconds()
	log.Write(history.Record{At: 1, Setup: &setup})

	working, stop := context.WithCancel(ctx)
	defer stop()
	l, err := load.Start(working, s, load.Options{Log: log, Seed: o.seed, Picket: o.picket, TTL: ttl, Receivers: receivers})
	if err != nil {
		return setup, err
	}
	plan := nemesis.Plan(o.seed, o.topology, o.profile, o.long)
	return setup, nemesis.Run(ctx, log.As("nemesis"), s, l, receivers, plan, func() error {
		settling, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		return l.Settle(settling)
	})
}

// waitReplicas is for how many replicas a grant waits: a set-up that fails over keeps what it confirmed only so. With two replicas, of
// which a Sentinel may take either, it is both. (docs/redis.md)
func (o *one) waitReplicas() int {
	switch {
	case o.profile == "waited" && o.topology == "sentinel":
		return 2
	case o.topology != "standalone" && (o.profile == "kept" || o.profile == "waited"):
		return 1
	}
	return 0
}

// patience is how long a master may be silent before a replica takes over: so long that none does where nothing is to be lost.
func (o *one) patience() time.Duration {
	if slices.Contains([]string{"lost", "mixed", "waited"}, o.profile) {
		return 0
	}
	return time.Minute
}
