// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picketd/picket/proof/history"
	"github.com/picketd/picket/proof/load"
	"github.com/picketd/picket/proof/stage"
)

// Run carries out a plan, and writes the beginning and the end of each fault. A step that finds all its targets in the hands of other
// faults is left out. All faults are over, also when ctx ends early, before settle is called; until that returns failovers that no plan made
// are written down. An error is one of the proof, not of Picket.
func Run(
	ctx context.Context, log *history.Log, s *stage.Stage, l *load.Load, r *load.Receivers, plan []Step, settle func() error,
) error {
	f := &field{log: log.As("nemesis"), stage: s, load: l, receivers: r, taken: map[string]bool{}}
	watching, enough := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.watchMasters(watching)
	}()
	defer func() { enough(); <-watched }()

	errs, begin := make([]error, len(plan)), time.Now()
	var acting sync.WaitGroup
	for i, step := range plan {
		if !pause(ctx, time.Until(begin.Add(step.At))) {
			break
		}
		kind := named(step.Fault)
		acting.Go(func() {
			if err := kind.act(ctx, job{f, step, kind}); err != nil {
				errs[i] = fmt.Errorf("fault %d, %s: %w", step.ID, step.Fault, err)
			}
		})
	}
	acting.Wait()
	mend, cancel := context.WithTimeout(context.WithoutCancel(ctx), mending)
	defer cancel()
	if err := errors.Join(append(errs, f.alive(), s.Mend(mend))...); err != nil {
		return err
	}
	return settle()
}

// named is the fault of that name.
func named(name string) *Fault {
	for i := range Faults {
		if Faults[i].Name == name {
			return &Faults[i]
		}
	}
	panic("there is no fault " + name)
}
