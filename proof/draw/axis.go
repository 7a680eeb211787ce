// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package draw

import (
	"slices"
	"time"
)

// Sizes in the picture, in pixels.
const (
	left    = 210 // for the names of lanes
	busyFor = 1250
	high    = 22 // a lane
	top     = 24 // for the times
	least   = 4  // a bar
	pauseAs = 26 // a pause
)

// axis lays time out from left to right: in proportion, but for pauses in which nothing happens, which are cut short.
type axis struct {
	times  []int64 // at which something happens, ascending
	at     []float64
	pauses []int // before which of them there is one
}

// newAxis needs at least one time.
func newAxis(times []int64) *axis {
	times = slices.Clone(times)
	slices.Sort(times)
	a := &axis{times: slices.Compact(times)}
	pause := max((a.times[len(a.times)-1]-a.times[0])/10, int64(500*time.Millisecond))
	busy := int64(1)
	for i := 1; i < len(a.times); i++ {
		if gap := a.times[i] - a.times[i-1]; gap > pause {
			a.pauses = append(a.pauses, i)
		} else {
			busy += gap
		}
	}
	x := float64(left)
	for i, t := range a.times {
		switch {
		case slices.Contains(a.pauses, i):
			x += pauseAs
		case i > 0:
			x += float64(t-a.times[i-1]) * busyFor / float64(busy)
		}
		a.at = append(a.at, x)
	}
	return a
}

func (a *axis) first() int64 { return a.times[0] }

func (a *axis) last() int64 { return a.times[len(a.times)-1] }

// x is where a time stands. What lies outside stands at the ends.
func (a *axis) x(t int64) int {
	i, found := slices.BinarySearch(a.times, t)
	switch {
	case i == len(a.times):
		return int(a.at[i-1])
	case found || i == 0:
		return int(a.at[i])
	}
	share := float64(t-a.times[i-1]) / float64(a.times[i]-a.times[i-1])
	return int(a.at[i-1] + share*(a.at[i]-a.at[i-1]))
}

func (a *axis) width() int { return int(a.at[len(a.at)-1]) + 60 }

// tick is a line with a word at its top.
type tick struct {
	X     int
	Text  string
	Pause bool
}

// ticks are some times, each with its distance from the first, and the pauses with their lengths.
func (a *axis) ticks() (all []tick) {
	for _, i := range a.pauses {
		long := time.Duration(a.times[i] - a.times[i-1]).Round(100 * time.Millisecond)
		all = append(all, tick{int(a.at[i-1]+a.at[i]) / 2, long.String(), true})
	}
	free := 0
	for i, t := range a.times {
		x := int(a.at[i])
		near := slices.ContainsFunc(all, func(o tick) bool { return o.Pause && x > o.X-70 && x < o.X+50 })
		if i == 0 || x > free && !near {
			all = append(all, tick{x, since(a.first(), t), false})
			free = x + 110
		}
	}
	return all
}
