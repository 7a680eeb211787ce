// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package nemesis

import (
	"slices"
	"testing"
	"time"
)

var topologies = []string{"standalone", "sentinel", "cluster"}

const long = time.Minute

func everyKind(t *testing.T, check func(t *testing.T, topology, profile string)) {
	t.Helper()
	for _, topology := range topologies {
		for _, profile := range Profiles() {
			t.Run(topology+"/"+profile, func(t *testing.T) {
				t.Parallel()
				check(t, topology, profile)
			})
		}
	}
}

func TestTheSameSeedMakesTheSamePlan(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, topology, profile string) {
		for seed := range uint64(20) {
			one, again := Plan(seed, topology, profile, long), Plan(seed, topology, profile, long)
			if !slices.Equal(one, again) {
				t.Fatalf("seed %d made two plans:\n%v\n%v", seed, one, again)
			}
			if slices.Equal(one, Plan(seed+1, topology, profile, long)) {
				t.Errorf("seeds %d and %d made the same plan", seed, seed+1)
			}
		}
	})
}

func TestEveryFaultThatIsAllowedOccursAndNoOther(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, topology, profile string) {
		occurs := map[string]int{}
		for seed := range uint64(100) {
			for _, step := range Plan(seed, topology, profile, long) {
				occurs[step.Fault]++
			}
		}
		for _, f := range Faults {
			if allowed := f.Allowed(topology, profile); allowed != (occurs[f.Name] > 0) {
				t.Errorf("%s: allowed %v, occurs %d times in 100 plans", f.Name, allowed, occurs[f.Name])
			}
		}
	})
}

func TestAPlanKeepsToItsTime(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, topology, profile string) {
		overlapping := 0
		for seed := range uint64(100) {
			for _, long := range []time.Duration{10 * time.Second, long} {
				times, before := map[string]int{}, Step{}
				for i, step := range Plan(seed, topology, profile, long) {
					f := named(step.Fault)
					times[f.Name]++
					switch {
					case step.ID != i+1 || step.At < max(first, before.At):
						t.Errorf("seed %d: step %+v comes after %+v", seed, step, before)
					case step.At+step.Long > long-last:
						t.Errorf("seed %d: %+v ends after %v less %v", seed, step, long, last)
					case step.Long < f.Least || step.Long > f.Most:
						t.Errorf("seed %d: %+v lasts less than %v, or more than %v", seed, step, f.Least, f.Most)
					case f.Times > 0 && times[f.Name] > f.Times:
						t.Errorf("seed %d: %s is there %d times", seed, f.Name, times[f.Name])
					}
					if i > 0 && step.At < before.At+before.Long {
						overlapping++
					}
					before = step
				}
			}
		}
		if overlapping < 100 {
			t.Errorf("only %d faults begin during the one before, in 100 plans", overlapping)
		}
	})
}

// TestWhatProfilesAreFor: only where Redis may lose data, or its clock may be set, there are faults that do it.
func TestWhatProfilesAreFor(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, topology, profile string) {
		var loses, steps, disks bool
		for _, f := range Faults {
			if f.Allowed(topology, profile) {
				loses, steps, disks = loses || f.Loses, steps || f.Steps, disks || slices.Equal(f.Profiles, disk)
			}
		}
		waits := profile == "waited" && topology != "standalone"
		for seed := range uint64(50) {
			if own := slices.ContainsFunc(Plan(seed, topology, profile, long), func(s Step) bool { return named(s.Fault).of(profile) }); own != (slices.Contains([]string{"lost", "clock", "disk"}, profile) || waits) {
				t.Errorf("seed %d: what the profile is about occurs: %v", seed, own)
			}
		}
		if all := profile == "mixed"; loses != (all || waits || profile == "lost") || steps != (all || profile == "clock") || disks != (all || profile == "disk") {
			t.Errorf("it loses data: %v, sets clocks: %v, disturbs disks: %v", loses, steps, disks)
		}
	})
}
