// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package nemesis torments what a proof runs: faults that overlap, on hosts, processes, links, disks, Redis and receivers, by a plan
// that is made from a seed alone.
//
// The same seed makes the same plan, not the same history: what a fault meets is decided by the machine. A step names its fault and a
// number by which its target is picked among those that are there when it begins.
package nemesis

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Profiles are the names of the sets of faults.
//
//	kept   Redis keeps all that it confirmed; these faults the others have too
//	lost   it loses some or all: FLUSHALL, older dumps, failovers to a replica that lags
//	waited  replicas are waited for, and it loses what none of them has; on one server the same as kept
//	clock  its clock is set
//	disk   the disks of hosts are full, or read-only
//	mixed  all of these
func Profiles() []string { return []string{"kept", "lost", "waited", "clock", "disk", "mixed"} }

const (
	first = time.Second            // before that there are no faults, so that there is something to lose
	last  = 500 * time.Millisecond // nor after the plan's end less this
)

// gaps are the mean times between two faults. A plan has one of them: Picket's long protocols, such as a take-over, need calm to come
// to their end, and others go wrong only in a storm.
var gaps = []time.Duration{800 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second}

// Plan makes a plan for so long a time. It has some of the faults that topology and profile allow, drawn anew for each seed: a fault
// that is everywhere hides what shows only without it. What the profile is about is always there, and a third of the whole.
func Plan(seed uint64, topology, profile string, long time.Duration) []Step {
	kind := fnv.New64()
	kind.Write([]byte(topology + " " + profile))
	random := rand.New(rand.NewPCG(seed, kind.Sum64()))

	var chosen []*Fault
	for i := range Faults {
		if f := &Faults[i]; f.Name != forGood && f.Allowed(topology, profile) && (f.of(profile) || random.IntN(2) == 0) {
			chosen = append(chosen, f)
		}
	}
	gap, times := gaps[random.IntN(len(gaps))], map[string]int{}
	var plan []Step
	at, there := first, false // there: what the profile is about
	for {
		at += time.Duration(random.ExpFloat64() * float64(gap)).Round(time.Millisecond)
		room := long - last - at
		if room < 0 {
			if named(forGood).Allowed(topology, profile) && random.IntN(3) == 0 {
				plan = append(plan, Step{ID: len(plan) + 1, Fault: forGood, At: long - last, Pick: random.Uint64()})
			}
			return plan
		}
		fits := slices.DeleteFunc(slices.Clone(chosen), func(f *Fault) bool {
			return f.Least > room || f.Times > 0 && times[f.Name] >= f.Times
		})
		if len(fits) == 0 {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(fits), func(f *Fault) bool { return !f.of(profile) })
		if len(own) > 0 && (!there || random.IntN(3) == 0) {
			fits, there = own, true
		}
		f := draw(random, fits)
		times[f.Name]++
		s := Step{ID: len(plan) + 1, Fault: f.Name, At: at, Long: between(random, f.Least, min(f.Most, room)), Pick: random.Uint64()}
		if len(plan) > 0 && random.IntN(4) == 0 {
			s.Pick = plan[len(plan)-1].Pick // two in a row on the same target
		}
		plan = append(plan, s)
	}
}

// draw draws one by their weights.
func draw(random *rand.Rand, faults []*Fault) *Fault {
	all := 0
	for _, f := range faults {
		all += cmp.Or(f.Weight, 1)
	}
	n := random.IntN(all)
	for _, f := range faults {
		if n -= cmp.Or(f.Weight, 1); n < 0 {
			return f
		}
	}
	panic("unreachable")
}

// between is a time between two: as often between 1 and 2 s as between 4 and 8 s.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), random.Float64())).Round(time.Millisecond)
}
