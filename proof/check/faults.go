// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/proof/history"
)

// fault is one from its beginning to its end.
type fault struct {
	n, m         int // its records; m is -1 if it never ended
	name         string
	target       string
	loses, steps bool
	by           int64 // ns by which it sets a clock, and in the end sets it back
	keeps        bool  // what was waited for
	begin, end   int64
}

// faults are those of a history, in the order in which they began.
type faults []*fault

// note pairs the beginning of a fault with its end. What is over in a moment, and what has no end in the history, is told by one
// record: the first ends when it began, the second never.
func (all *faults) note(open map[int]*fault, n int, r history.Record) {
	f := open[r.Fault.ID]
	if f == nil {
		f = &fault{n: n, m: -1, begin: r.At, end: never}
		open[r.Fault.ID] = f
		*all = append(*all, f)
	}
	f.name, f.target = r.Fault.Name, r.Fault.Target
	f.keeps = f.keeps || r.Fault.Keeps
	f.loses, f.steps = f.loses || r.Fault.Loses, f.steps || r.Fault.Steps
	if by, err := time.ParseDuration(r.Fault.Detail); f.steps && err == nil {
		f.by = by.Nanoseconds()
	}
	if r.Fault.End && f.name != forGood {
		f.m, f.end = n, r.At
		if strings.HasSuffix(f.name, "replaced") || f.name == "unplanned failover" {
			f.end += demoted
		}
	}
}

// forGood is the fault after which nothing runs on a host any more.
const forGood = "daemon is gone for good"

// demoted is for how long a master that another has replaced may go on as one, when it is there again: Sentinel looks after it for 8 s
// before it makes it a replica, and asks it every 10 s at the latest.
const demoted = int64(10 * time.Second)

// within: did the fault touch this time?
func (f *fault) within(from, to int64) bool { return f.begin <= to && from <= f.end }

// lost: may Redis have lost what it confirmed in this time?
func (all faults) lost(from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.loses && f.within(from, to) })
}

// forgot: may Redis have lost in this time what it confirmed, also what replicas were waited for?
func (all faults) forgot(from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.loses && !f.keeps && f.within(from, to) })
}

// kept is from when on Redis has kept what it confirmed; 0: always.
func (all faults) kept() (from int64) {
	for _, f := range all {
		if f.loses {
			from = max(from, f.end)
		}
	}
	return from
}

// stepped: was the clock of a Redis set in this time?
func (all faults) stepped(from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.steps && f.within(from, to) })
}

// struck: was there a fault in this time that may hold up a daemon, or keep it from Redis?
func (all faults) struck(host string, from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool { return f.within(from, to) && (f.on(host) || f.onRedis()) })
}

// without are all but one.
func (all faults) without(one *fault) faults {
	return slices.DeleteFunc(slices.Clone(all), func(f *fault) bool { return f == one })
}

// crashed: did a daemon end in this time, in whatever way?
func (all faults) crashed(host string, from, to int64) bool {
	return all.killed(host, from, to) || slices.ContainsFunc(all, func(f *fault) bool {
		return f.within(from, to) && f.target == host && f.name == "daemon is stopped"
	})
}

// killed: did a daemon end in this time, and had no turn to write what it knew?
func (all faults) killed(host string, from, to int64) bool {
	return slices.ContainsFunc(all, func(f *fault) bool {
		at := f.within(from, to) && f.target == host
		return at && (f.name == forGood || strings.HasPrefix(f.name, "daemon is killed") || strings.HasPrefix(f.name, "daemon stays"))
	})
}

// over is when the last fault had ended that may hold up a daemon, or keep it from Redis, of those that touch this time; from, if there
// was none.
func (all faults) over(host string, from, to int64) int64 {
	last := from
	for _, f := range all {
		if f.within(from, to) && (f.on(host) || f.onRedis()) {
			last = max(last, f.end)
		}
	}
	return last
}

// thawed is when a worker may have known what it wrote down at that time: if its process was frozen until then, before that.
func (all faults) thawed(worker string, at int64) int64 {
	for _, f := range all {
		if strings.HasPrefix(worker, f.target+".") && f.within(at-int64(stall), at) {
			at = min(at, f.begin)
		}
	}
	return at
}

// on: is it about a host's daemon, its disk or its links? Targets are host-a, or host-a redis-1; agent host-a/1 is a process beside it.
func (f *fault) on(host string) bool {
	return f.target == host || strings.HasPrefix(f.target, host+" ")
}

// onRedis: is it about a server, or about one that the stage chose?
func (f *fault) onRedis() bool {
	return f.target == "" || strings.HasPrefix(f.target, "redis") || strings.HasPrefix(f.target, "sentinel")
}
