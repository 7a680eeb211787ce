// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// silencing are the faults of a server by which Redis may answer nothing: it is away, or another takes its place.
var silencing = []string{
	"redis is killed", "redis freezes", "master is killed", "master freezes", "master is killed and replaced", "master freezes and is replaced",
	"planned failover", "unplanned failover", "failover loses writes", "older dump", "link of a node is slow",
}

// parting are those of a host's links by which it hears nothing from Redis.
var parting = []string{
	"host is cut off", "host is cut off for long", "requests are cut", "requests are held up", "replies are cut", "replies are lost",
	"replies are lost again and again", "link of a host is slow",
}

// silences: can Redis answer a daemon nothing by this, while both run? What closes connections, forgets scripts or refuses writes does not
// keep it from answering.
func (f *fault) silences(host string) bool {
	return slices.Contains(silencing, f.name) || f.on(host) && slices.Contains(parting, f.name)
}

// hinders: can it keep a daemon from writing down what became of an attempt, or from sending one that it took? A daemon that does not run
// does neither; without room on its disk, or in Redis, it cannot write it down.
func (f *fault) hinders(host string) bool {
	daemon := f.target == host && (strings.HasPrefix(f.name, "daemon") || strings.HasPrefix(f.name, "disk"))
	return daemon || f.silences(host) || f.name == "memory is short" || f.name == "slot moves"
}

// delays: can it keep what a daemon sends from its receiver?
func (f *fault) delays(host string) bool {
	return f.target == host && f.name == "host is cut off from receivers" || f.hinders(host)
}

// cover: do faults of a kind fill a time, one after the other? What they did may last for a stall longer than they, and so long may pass
// from one to the next.
func (all faults) cover(from, to int64, such func(*fault) bool) bool {
	return all.reach(from, such) >= to
}

// reach is until when faults of a kind fill the time from one on.
func (all faults) reach(from int64, such func(*fault) bool) int64 {
	until := from + int64(stall)
	for _, f := range all {
		if f.begin <= until && such(f) {
			until = max(until, felt(f.end))
		}
	}
	return until
}

// felt is until when something may show that ended at a time.
func felt(end int64) int64 { return min(end, never-int64(stall)) + int64(stall) }

// unanswered: had Redis answered a daemon nothing for as long as that takes, when it sent without asking at a time? It asks for 5 s first, and
// sends within the 7 s after that. (outbox/doc.go)
func (all faults) unanswered(host string, at int64) bool {
	such := func(f *fault) bool { return f.silences(host) }
	return slices.ContainsFunc(all, func(f *fault) bool {
		return such(f) && f.begin <= at-away && all.reach(f.begin, such) >= max(felt(f.begin+away), at-asking+away)
	})
}
