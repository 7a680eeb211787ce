// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// Judging is what a daemon looks at before it takes another for dead, whose sign stands beside its own. The design has it all. What
// is looked for:
//
//	living     another is judged though it was silent for less than a sign lives, or Redis was not there for it to sign meanwhile
//	forgotten  one that died is not judged, though nothing hinders it any more
type Judging struct {
	steady bool // the own signs were written without a break for longer than one lives
	own    bool // that the own last sign is not there, or is overdue, is a break
	clock  bool // that Redis' clock did not run like the own one since the last sign is a break, too
	looks  bool // Redis was there at every look for as long as another must be missed
	ahead  bool // signs of a time that is still to come, as Redis' clock was set back, are given the time that it is
}

// In ticks: each daemon signs once a tick. The pace of the daemon is 5, 2 and 6 of its own.
const (
	life, missed, steadyFor = 5, 2, 6
	old                     = life + missed // all ages that are not less are alike
	far                     = 3 * old       // by which a clock may be set back
	calmFor                 = steadyFor + life + missed + 1
	none                    = -99 // age of what is not there
)

// Fleet is the judge, another daemon and Redis. All times are ages, in ticks; those of signs are by Redis' clock.
type Fleet struct {
	sign, older [2]int8 // the judge's, and the other's; older: what a failover or a dump brings back
	mine        int8    // the last that the judge wrote
	last        int8    // when that was, and since when there was no break of signs, and of looks
	since, seen int8
	silent      int8 // for how many ticks the other has not signed
	asked       int8 // and in how many of these Redis was there
	dead        bool // the other
	calm        int8 // of a dead one: since the last fault

	blows, misses, outages int8 // that may still come: Redis loses data, or its clock is set; a sign of the other's; a tick without Redis
}

var beginning = Fleet{
	sign: [2]int8{none, 0}, older: [2]int8{none, 0}, mine: none, last: life, blows: 1, misses: life - 1, outages: 3,
}

func grow(age *int8, by int8) {
	if *age != none {
		*age = max(-far, min(old, *age+by))
	}
}

// clocks lets Redis' clock go on.
func (f *Fleet) clocks(by int8) {
	for _, age := range []*int8{&f.sign[0], &f.sign[1], &f.older[0], &f.older[1], &f.mine} {
		grow(age, by)
	}
}

// faults are what may happen before a tick: nothing, too.
func (f Fleet) faults(do func(name string, t Fleet)) {
	do("", f)
	f.calm = 0
	snapshot := f
	snapshot.older = f.sign
	if snapshot.older != f.older {
		do("the replica follows no further, ", snapshot)
	}
	if !f.dead {
		t := f
		t.dead = true
		do("the other dies, ", t)
	}
	if f.blows == 0 {
		return
	}
	f.blows--
	fallen, lost := f, f
	fallen.sign, lost.sign = f.older, [2]int8{none, none}
	do("Redis falls back, ", fallen)
	do("Redis loses the signs, ", lost)
	for _, by := range []int8{-far, missed, missed + 1, life, old} {
		t := f
		t.clocks(by)
		do("Redis' clock is set, ", t)
	}
}

// tick calls do for every way that one tick can go, with the violation that it is.
func (j Judging) tick(f Fleet, do func(name string, t Fleet, bad string)) {
	f.faults(func(before string, f Fleet) {
		f.clocks(1)
		f.last, f.since, f.seen = min(life, f.last+1), min(steadyFor, f.since+1), min(missed, f.seen+1)
		f.silent = min(life, f.silent+1)
		if f.dead {
			f.calm = min(calmFor, f.calm+1)
		}
		if f.outages > 0 {
			t := f
			t.outages--
			t.calm = 0
			do(before+"a tick without Redis", t, "")
		}
		f.asked = min(missed+1, f.asked+1)
		other := func(t Fleet) Fleet {
			if !t.dead {
				t.sign[1], t.silent, t.asked = 0, 0, 0
			}
			return t
		}
		for _, t := range []Fleet{f, other(f)} {
			t, bad := j.judge(t)
			if t.misses > 0 && !t.dead && t.silent > 0 {
				u := t
				u.misses--
				do(before+"the judge signs alone", u, bad)
			}
			do(before+"both sign", other(t), bad)
		}
		if f.sign[1] == none { // the walk finds what it answers for
			t := f
			t.calm, t.sign[1] = 0, old
			t, bad := j.judge(t)
			do(before+"the walk finds the other, both sign", other(t), bad)
		}
	})
}

// judge is one sign of the judge's.
func (j Judging) judge(f Fleet) (Fleet, string) {
	had := f.sign[0]
	lost := had == none || had > f.mine || had >= life || had < 0
	stepped := f.mine != none && (f.mine-f.last > missed || f.last-f.mine > missed)
	first := f.mine == none
	if first || f.last >= life || j.own && lost || j.clock && stepped {
		f.since = 0
	}
	if first || f.last >= missed {
		f.seen = 0
	}
	if j.ahead && lost && f.sign[1] != none {
		f.sign[1] = max(0, f.sign[1])
	}
	f.sign[0], f.mine, f.last = 0, 0, 0
	able := (!j.steady || f.since >= steadyFor) && (!j.looks || f.seen >= missed)
	judged := able && f.sign[1] != none && f.sign[1] >= life+missed
	switch {
	case judged && !f.dead && (f.silent < life || f.asked <= missed):
		return f, "living"
	case !judged && f.dead && f.sign[1] != none && f.calm == calmFor:
		return f, "forgotten"
	}
	return f, ""
}
