// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	settle    = 3 * time.Second // before the memory of idle processes is read
	rounds    = 15              // of each rate
	roundTime = 500 * time.Millisecond
)

// broken ends the run: what is measured after an error means nothing. Only the goroutine of run may panic with it.
type broken struct{ error }

// check goes on only without an error.
func check(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// must is the value of a call that has no error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// catch is to be deferred where the run ends, and makes its error of what check found.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case broken:
		*err = r.error
	default:
		panic(r)
	}
}

// pause waits, unless the run is ended.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		check(context.Cause(ctx))
	}
}

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

// together runs all at once and returns the first error.
func together(work []func() error) error {
	var group sync.WaitGroup
	errs := make(chan error, len(work))
	for _, do := range work {
		group.Go(func() { errs <- do() })
	}
	group.Wait()
	for range work {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
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

// row is a rate's, whose ratio is to be least or more.
func (c compared) row(id, figure string, least float64) row {
	ratio := c.ratio()
	return row{id, figure, perSecond(median(c.picket)), perSecond(median(c.floor)), times(ratio), fmt.Sprintf("≥ %.2g×", least), ratio >= least}
}

// alternate measures two sides' rates in turns.
func alternate(rounds int, picket, floor func() float64) (c compared) {
	side := func(rates *[]float64, measure func() float64) func() error {
		return func() error { *rates = append(*rates, measure()); return nil }
	}
	check(inTurns(rounds, side(&c.picket, picket), side(&c.floor, floor)))
	return c
}

// compare measures two crews, after a first round that does not count.
func compare(ctx context.Context, picket, floor []func() error) compared {
	side := func(crew []func() error) func() float64 {
		return func() float64 { return must(rate(ctx, roundTime, crew)) }
	}
	c := alternate(rounds+1, side(picket), side(floor))
	return compared{c.picket[1:], c.floor[1:]}
}

// resident is the resident memory of a process in MB.
func resident(pid int) float64 {
	bytes := statusBytes(pid, "VmRSS")
	if bytes == 0 {
		check(fmt.Errorf("cannot read the memory of process %d", pid))
	}
	return bytes / 1e6
}

// statusBytes is a figure of the kernel's about a process; 0: it has ended.
func statusBytes(pid int, name string) float64 {
	text := strings.TrimSuffix(lineOf(fmt.Sprintf("/proc/%d/status", pid), name), " kB")
	kib, _ := strconv.ParseFloat(text, 64)
	return kib * 1024
}
