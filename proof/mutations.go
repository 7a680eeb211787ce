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
	"strings"
	"time"

	"github.com/picketd/picket/proof/mutate"
	"github.com/picketd/picket/proof/nemesis"
)

// caught is how one mutation was found out.
type caught struct {
	mutate.Mutation
	by        *result // the first history that breaks the guarantee; nil: none does
	histories int
	took      time.Duration
}

// runMutations takes the rules out one by one.
func runMutations(ctx context.Context, args []string) (bool, error) {
	var p plan
	var names []string
	for _, m := range mutate.All() {
		names = append(names, m.Name)
	}
	flags := flag.NewFlagSet("proof mutations", flag.ExitOnError)
	flags.IntVar(&p.histories, "histories", 6, "how many at most for each")
	flags.IntVar(&p.atOnce, "at-once", 3, "how many at the same time")
	flags.DurationVar(&p.long, "time", time.Minute, "how long faults befall each")
	flags.Uint64Var(&p.seed, "seed", 1, "the first one's seed")
	only := oneOf(flags, "only", names, "which")
	flags.StringVar(&p.out, "out", "", "the folder for the histories; a new one below /tmp")
	_ = flags.Parse(args)
	out, err := folder(p.out)
	if err != nil {
		return false, err
	}
	all := true
	var table []caught
	for _, m := range mutate.All() {
		if !slices.Contains(*only, m.Name) {
			continue
		}
		p.out, p.mutation, p.topologies, p.profiles = filepath.Join(out, m.Name), m.Name, m.Topologies, m.Profiles
		if len(p.topologies) == 0 {
			p.topologies = topologies
		}
		if len(p.profiles) == 0 {
			p.profiles = nemesis.Profiles()
		}
		p.picket = filepath.Join(p.out, "picket")
		if err := os.MkdirAll(p.out, 0o700); err != nil {
			return false, err
		}
		if err := mutate.Build(ctx, ".", m.Name, p.picket); err != nil {
			return false, err
		}
		one, began := caught{Mutation: m}, time.Now()
		if _, err := p.make(ctx, func(r *result) bool {
			one.histories++
			if slices.Contains(r.broken(), m.Guarantee) {
				one.by, one.took = r, time.Since(began)
			}
			return one.by == nil
		}); err != nil {
			return false, err
		}
		all = all && one.by != nil
		table = append(table, one)
	}
	fmt.Println("\n| left out | of | caught by | in history | on | after |\n|---|---|---|---|---|---|")
	for _, c := range table {
		fmt.Println(c.row())
	}
	fmt.Println("all is in", out)
	return all, nil
}

func (c *caught) row() string {
	if c.by == nil {
		return fmt.Sprintf("| %s | %s | NOT CAUGHT | %d | | |", c.Name, c.Guarantee, c.histories)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s |", c.Name, c.Guarantee, strings.Join(c.by.broken(), ", "), c.histories,
		title(&c.by.Setup), c.took.Round(time.Second))
}
