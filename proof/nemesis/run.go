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
// faults is left out. When it returns, all faults are over: also when ctx ends early. An error is one of the proof, not of Picket.
func Run(ctx context.Context, log *history.Log, s *stage.Stage, l *load.Load, r *load.Receivers, plan []Step) error {
	f := &field{log: log.As("nemesis"), stage: s, load: l, receivers: r, taken: map[string]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.watchMasters(ctx)
	}()

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
	cancel()
	<-watched
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), mending)
	defer cancel()
	return errors.Join(append(errs, f.alive(), s.Mend(ctx))...)
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
