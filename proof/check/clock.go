// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "strings"

// A clock that is set forward ends at once what Redis would have kept until then: locks, and leases of attempts. One that is set back has
// them last longer by as much, until it is put right. So what ends too early is excused by the moment of a step alone, and what lasts too
// long by as much time as it was.

// leap is by how much Redis' clock may have been set forward in a time, in ns.
func (all faults) leap(from, to int64) int64 { return all.set(+1, from, to) }

// lag is by how much it may have been set back.
func (all faults) lag(from, to int64) int64 { return all.set(-1, from, to) }

// set adds up the steps that way. A fault's first step is taken soon after its record, the second soon before; a failover while the clock of
// a node is wrong is a step either way.
func (all faults) set(sign, from, to int64) (by int64) {
	for _, f := range all {
		at := f.begin
		if f.by*sign < 0 {
			at = f.end
		}
		size := max(f.by, -f.by)
		if size > 0 && at <= felt(to) && felt(at) >= from {
			by += size
		}
		for _, g := range all {
			if size > 0 && g.replaces() && g.within(from, to) && g.within(f.begin, f.end) {
				by += size
			}
		}
	}
	return by
}

// replaces: does another server, with another clock, become the master?
func (f *fault) replaces() bool {
	return strings.Contains(f.name, "failover") || strings.HasSuffix(f.name, "replaced")
}
