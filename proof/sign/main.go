// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command sign is an explicit-state model of the daemons' signs of life (engine/lookout/sign.go, engine/store/lua/sign.lua): a daemon that
// restarts, a copy of its outbox that runs beside it, and a Redis that falls back to an older sign or loses it. How one daemon judges
// another is in judge.go.
//
//	go run ./proof/sign    the design and each rule left out; exit 1 if the design fails or a mutation is not caught
//
// What is looked for:
//
//	former    a daemon is told of a copy of its outbox, and there never was one: it is its own former run
//	both      two daemons with one identity sign in turn, and neither is told
//	unseen    a daemon signs over what another that lives has signed since, and is not told
package main

import (
	"fmt"
	"os"
)

// Rules are what the script looks at. The design has them all.
type Rules struct {
	verdict bool // another's sign is refused, and told, but to a first sign
	former  bool // that of a former run, as the outbox knows it, is signed over
	at      bool // but not one that is newer than the own
}

// Sign is what stands in Redis: which run signed, and when. Runs are numbered from 1: two of the daemon, one of the copy; 0 is none.
type Sign struct{ run, at int8 }

// Daemon is the daemon (0) or the copy (1).
type Daemon struct {
	run, at int8 // at: when this run last signed; 0: it has not
	former  int8 // runs (bits) that its outbox knows
	told    bool
}

// State is everything. It is a map key.
type State struct {
	sign, older           Sign // older: what a failover brings back
	daemon                [2]Daemon
	clock                 int8
	restart, copy, losses int8 // that may still come
	turn                  int8 // the checker's: who signed over the other's sign without being told, last (its number + 1)
}

const ticks = 9

var start = State{daemon: [2]Daemon{{run: 1}}, restart: 1, copy: 1, losses: 2}

// steps calls do for every step that can be taken in s, with the violation that it is.
func (r Rules) steps(s State, do func(t State, bad string)) {
	for i, d := range s.daemon {
		if d.run == 0 || s.clock == ticks {
			continue
		}
		t, other, bad := s, s.daemon[1-i], ""
		q := &t.daemon[i]
		foreign := s.sign.run != 0 && s.sign.run != d.run
		mine := r.former && d.former>>s.sign.run&1 == 1 && (!r.at || s.sign.at <= d.at)
		if r.verdict && foreign && d.at != 0 && !mine {
			if q.told = true; s.copy == 1 {
				bad = "former"
			}
			do(t, bad)
			continue
		}
		over := foreign && s.sign.run == other.run
		switch {
		case over && s.turn == int8(2-i):
			bad = "both"
		case over && d.at != 0 && s.sign.at > d.at:
			bad = "unseen"
		}
		if t.turn = 0; over {
			t.turn = int8(i) + 1
		}
		t.clock++
		t.sign, q.at, q.told = Sign{d.run, t.clock}, t.clock, false
		do(t, bad)
	}
	if s.restart > 0 {
		t := s
		t.restart--
		t.daemon[0] = Daemon{run: 2, former: 1 << 1}
		t.turn = 0
		do(t, "")
	}
	if s.copy > 0 { // it knows the runs of the daemon until then
		t := s
		t.copy--
		t.daemon[1] = Daemon{run: 3, former: s.daemon[0].former | 1<<s.daemon[0].run}
		do(t, "")
	}
	t := s
	t.older = s.sign // a replica that follows no further
	do(t, "")
	if s.losses > 0 {
		for _, left := range []Sign{s.older, {}} {
			t := s
			t.losses--
			t.sign, t.turn = left, 0
			do(t, "")
		}
	}
}

// explore visits every state and returns their number and the kinds of violation.
func (r Rules) explore() (states int, found map[string]bool) { return visit(start, r.steps) }

// variants are the two designs, each followed by what is it without one of its rules.
var variants = []struct {
	name   string
	holds  bool
	design interface {
		explore() (states int, found map[string]bool)
	}
}{
	{"design of signs", true, Rules{true, true, true}},
	{"no verdict", false, Rules{false, true, true}},
	{"own former runs not known", false, Rules{true, false, true}},
	{"former runs whatever their time", false, Rules{true, true, false}},

	{"design of judging", true, Judging{true, true, true, true, true}},
	{"not steady", false, Judging{false, true, true, true, true}},
	{"own sign not looked at", false, Judging{true, false, true, true, true}},
	{"Redis' clock not looked at", false, Judging{true, true, false, true, true}},
	{"looks that failed", false, Judging{true, true, true, false, true}},
	{"signs of the future stay", false, Judging{true, true, true, true, false}},
}

func main() {
	wrong := false
	for _, v := range variants {
		states, found := v.design.explore()
		fmt.Printf("%-32s %7d states, violations: %v\n", v.name, states, found)
		wrong = wrong || v.holds == (len(found) > 0)
	}
	if wrong {
		fmt.Println("THE DESIGN FAILS, OR A MUTATION IS NOT CAUGHT")
		os.Exit(1)
	}
}
