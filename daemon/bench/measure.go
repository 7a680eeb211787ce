// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// median of what may not be empty.
func median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// inTurns runs each side a number of times, forwards and backwards by turns, and stops at the first error.
func inTurns(times int, sides ...func() error) error {
	order := slices.Clone(sides)
	for range times {
		for _, side := range order {
			if err := side(); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// timed runs work a number of times and appends how long each took.
func timed(took *[]time.Duration, times int, work func() error) error {
	for range times {
		start := time.Now()
		if err := work(); err != nil {
			return err
		}
		*took = append(*took, time.Since(start))
	}
	return nil
}

// rate runs workers side by side for a while and returns how often per second they were done.
func rate(ctx context.Context, d time.Duration, workers []func() error) (float64, error) {
	var done atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(workers))
	start := time.Now()
	for i, work := range workers {
		group.Go(func() {
			for time.Since(start) < d && ctx.Err() == nil {
				if errs[i] = work(); errs[i] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), errors.Join(append(errs, ctx.Err())...)
}

// compared are the rates of the daemon and the floor, round by round.
type compared struct{ picket, floor []float64 }

// ratio is the median of the rounds' ratios, as a round's two sides share what else the machine did then.
func (c compared) ratio() float64 {
	ratios := make([]float64, len(c.picket))
	for i := range ratios {
		ratios[i] = c.picket[i] / c.floor[i]
	}
	return median(ratios)
}

// compare measures two crews in turns, after a first round that does not count.
func compare(ctx context.Context, rounds int, d time.Duration, picket, floor []func() error) (compared, error) {
	var c compared
	side := func(rates *[]float64, crew []func() error) func() error {
		return func() error {
			r, err := rate(ctx, d, crew)
			*rates = append(*rates, r)
			return err
		}
	}
	err := inTurns(rounds+1, side(&c.picket, picket), side(&c.floor, floor))
	if err != nil {
		return compared{}, err
	}
	return compared{c.picket[1:], c.floor[1:]}, nil
}
