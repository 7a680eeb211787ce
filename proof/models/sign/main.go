// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command sign is an explicit-state model of the daemons' signs of life (engine/lookout/sign.go, engine/store/lua/sign.lua): a daemon that
// restarts, a copy of its outbox that runs beside it, and a Redis that falls back to an older sign or loses it. How one daemon judges
// another is in judge.go.
//
//	go run ./proof/models/sign    the design and each rule left out; exit 1 if the design fails or a mutation is not caught
//
// What is looked for:
//
//	former    a daemon is told of a copy of its outbox, and there never was one: it is its own former run
//	both      two daemons with one identity sign in turn, and neither is told
//	unseen    a daemon signs over what another that lives has signed since, and is not told
package main

import "github.com/picketd/picket/proof/models/explore"

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

var who = []string{"the daemon", "the copy"}

var start = State{daemon: [2]Daemon{{run: 1}}, restart: 1, copy: 1, losses: 2}

// steps calls do for every step that can be taken in s, with the violation that it is.
func (r Rules) steps(s State, do func(name string, t State, bad string)) {
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
			do(who[i]+" is told of the other's sign", t, bad)
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
		do(who[i]+" signs", t, bad)
	}
	if s.restart > 0 {
		t := s
		t.restart--
		t.daemon[0] = Daemon{run: 2, former: 1 << 1}
		t.turn = 0
		do("the daemon restarts", t, "")
	}
	if s.copy > 0 { // it knows the runs of the daemon until then
		t := s
		t.copy--
		t.daemon[1] = Daemon{run: 3, former: s.daemon[0].former | 1<<s.daemon[0].run}
		do("its outbox is copied, the copy starts", t, "")
	}
	t := s
	t.older = s.sign // a replica that follows no further
	do("the replica has the sign, and follows no further", t, "")
	if s.losses > 0 {
		t := s
		t.losses--
		t.sign, t.turn = s.older, 0
		do("Redis falls back to the replica", t, "")
		t.sign = Sign{}
		do("Redis loses the sign", t, "")
	}
}

// variants are the two designs, each followed by what is it without one of its rules.
var variants = []explore.Model{
	explore.Design("design of signs", "as designed", Rules{true, true, true}.explore),
	explore.Mutation("no-verdict", "another's sign is signed over", Rules{false, true, true}.explore),
	explore.Mutation("no-former", "own former runs are not known", Rules{true, false, true}.explore),
	explore.Mutation("former-any", "former runs are signed over whatever their time", Rules{true, true, false}.explore),

	explore.Design("design of judging", "as designed", Judging{true, true, true, true, true}.explore),
	explore.Mutation("not-steady", "judged before the own signs were steady", Judging{false, true, true, true, true}.explore),
	explore.Mutation("own-sign", "that the own sign is gone is not looked at", Judging{true, false, true, true, true}.explore),
	explore.Mutation("own-clock", "that Redis' clock was set is not looked at", Judging{true, true, false, true, true}.explore),
	explore.Mutation("failed-looks", "looks that failed count", Judging{true, true, true, false, true}.explore),
	explore.Mutation("future-signs", "signs of the future stay", Judging{true, true, true, true, false}.explore),
}

func (r Rules) explore() explore.Result { return visit(start, r.steps) }

func (j Judging) explore() explore.Result { return visit(beginning, j.tick) }

func visit[S comparable](start S, steps func(S, func(name string, t S, bad string))) explore.Result {
	return explore.Space[S]{Start: start, Steps: func(s S, yield func(explore.Step[S])) {
		steps(s, func(name string, t S, bad string) { yield(explore.Step[S]{Name: name, Bad: bad, To: t}) })
	}}.Explore()
}

func main() { explore.Main(func() []explore.Model { return variants }) }
