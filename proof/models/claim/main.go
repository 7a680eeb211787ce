// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command claim is an explicit-state model of lock, mint, write, release (engine/doc.go).
// Two claimers on one asset, two claims each, each for one of two tasks. The lock may run out at any moment, and whoever has
// been granted may write at any later time: a frozen process is one that takes no step for long. Redis may lose everything once,
// or a failover may bring back once what its replica had. Every interleaving is looked at. Each mutation leaves one check out and
// shows what that check is for.
//
//	go run ./proof/models/claim    the protocol as designed and with each mutation; exit 1 if the design fails or one is not caught
package main

import (
	"fmt"
	"slices"

	"github.com/picketd/picket/proof/models/explore"
)

// Rules are the checks that the protocol makes. The design makes them all.
type Rules struct {
	mintChecksLock bool // the minting script checks that the lock still carries this claim's nonce
	nonce          bool // a write must bring the newest grant's nonce
	equality       bool // its token must equal the newest one, not only reach it
	perAsset       bool // it is compared with the asset's grant, not with what the ticket itself remembers
	waits          bool // a claim is answered when the replica has its grant (wait_replicas)
}

var variants = []explore.Model{
	explore.Design("design", "as designed", Rules{true, true, true, true, true}.explore),
	explore.Mutation("mint-without-lock", "mint without the lock check", Rules{false, true, true, true, true}.explore),
	explore.Mutation("no-nonce", "token only, no nonce", Rules{true, false, true, true, true}.explore),
	explore.Mutation("at-least", "token >=, no nonce", Rules{true, false, false, true, true}.explore),
	explore.Mutation("own-token", "the ticket's own token, not the asset's", Rules{true, true, true, false, true}.explore),
	explore.Mutation("no-wait", "answered before the replica has the grant", Rules{true, true, true, true, false}.explore),
}

// Grant is what Redis remembers of a claim. Nonces are numbered from 1; 0 is none.
type Grant struct{ token, nonce, task int8 }

const (
	idle   = iota
	locked // has the lock, no token yet
	minted // has the grant, and waits for the replica
	told   // its claim is answered: it may write, now or much later
)

// Claimer is one process.
type Claimer struct {
	at    int8
	grant Grant
	tries int8
}

// Data is what a server of Redis has.
type Data struct {
	lock   int8     // the holder's nonce
	grant  Grant    // the asset's newest grant
	ticket [2]Grant // what each ticket remembers of its own last grant
}

// State is Redis, the two claimers and what the checker remembers. It is a map key.
type State struct {
	Data
	replica Data
	claimer [2]Claimer
	nonces  int8    // nonces used up
	losses  int8    // FLUSHALLs and failovers that may still come
	made    [4]int8 // the checker's: nonces in the order in which they were minted, without those that a failover lost untold
	mints   int8
	told    int8 // the checker's: the nonces (bits) whose claim was answered
}

var start = State{losses: 1, claimer: [2]Claimer{{tries: 2}, {tries: 2}}}

// failover makes the replica the master. A grant that is lost before its claim was answered was nobody's.
func (s State) failover() State {
	t := s
	t.Data, t.losses, t.made, t.mints = s.replica, s.losses-1, [4]int8{}, 0
	for _, nonce := range s.made[:s.mints] {
		if s.told>>nonce&1 == 1 || s.replica.ticket[0].nonce == nonce || s.replica.ticket[1].nonce == nonce {
			t.made[t.mints] = nonce
			t.mints++
		}
	}
	return t
}

// accepts is the check that Redis makes in one script with the write.
func (r Rules) accepts(s State, g Grant) bool {
	newest := s.grant
	if !r.perAsset {
		newest = s.ticket[g.task]
	}
	return (g.token == newest.token || !r.equality && g.token > newest.token) &&
		(g.nonce == newest.nonce || !r.nonce) &&
		(g.task == newest.task || !r.perAsset)
}

const (
	stale  = "stale write"
	zombie = "zombie mints the newest token"
)

// steps calls do for every step that can be taken in s, and bad for every violation that can be seen in s.
func (r Rules) steps(s State, do func(step string, t State), bad func(kind, step string)) {
	if s.lock != 0 {
		t := s
		t.lock = 0
		do("the lock runs out", t)
	}
	if s.replica != s.Data {
		t := s
		t.replica = s.Data
		do("the replica has it all", t)
	}
	if s.losses > 0 {
		t := s
		t.Data = Data{}
		t.losses--
		do("FLUSHALL", t)
		do("failover", s.failover())
	}
	for i, c := range s.claimer {
		who := string(rune('A' + i))
		t := s
		switch c.at {
		case idle:
			if c.tries == 0 || s.lock != 0 {
				continue
			}
			t.nonces++
			t.lock = t.nonces
			for task := range int8(2) {
				t.claimer[i] = Claimer{locked, Grant{nonce: t.nonces, task: task}, c.tries - 1}
				do(fmt.Sprintf("%s locks, nonce %d, task %d", who, t.nonces, task), t)
			}
		case locked: // the mint, at any later time
			if r.mintChecksLock && s.lock != c.grant.nonce {
				t.claimer[i] = Claimer{tries: c.tries}
				do(who+" finds its lock gone", t)
				continue
			}
			g := Grant{s.grant.token + 1, c.grant.nonce, c.grant.task}
			t.grant, t.ticket[g.task] = g, g
			t.claimer[i] = Claimer{minted, g, c.tries}
			t.made[t.mints] = g.nonce
			t.mints++
			do(fmt.Sprintf("%s mints token %d", who, g.token), t)
		case minted:
			switch {
			case !slices.Contains(s.made[:s.mints], c.grant.nonce): // the failover lost it
				t.claimer[i].at = locked
				do(who+" asks for its grant again", t)
			case !r.waits || s.replica.grant == c.grant:
				t.claimer[i].at, t.told = told, s.told|1<<c.grant.nonce
				do(who+" is answered", t)
			}
			t = s
			if s.lock == c.grant.nonce {
				t.lock = 0
			}
			t.claimer[i] = Claimer{tries: c.tries}
			do(who+" is told to try again", t)
		case told: // a write, at any later time; then it lets go
			made := s.made[:s.mints]
			newest := made[len(made)-1] == c.grant.nonce
			if !newest && r.accepts(s, c.grant) {
				bad(stale, fmt.Sprintf("%s writes with token %d, and Redis accepts it", who, c.grant.token))
			}
			if newest && s.lock != c.grant.nonce && slices.Contains(made, s.lock) {
				bad(zombie, fmt.Sprintf("the newest token is %s's, so the writes of the lock's holder, nonce %d, are refused", who, s.lock))
			}
			if s.lock == c.grant.nonce {
				t.lock = 0
			}
			t.claimer[i] = Claimer{tries: c.tries}
			do(who+" releases", t)
		}
	}
}

func (r Rules) explore() explore.Result {
	return explore.Space[State]{Start: start, Steps: func(s State, yield func(explore.Step[State])) {
		r.steps(s, func(step string, t State) {
			yield(explore.Step[State]{Name: step, To: t})
		}, func(kind, step string) {
			yield(explore.Step[State]{Name: step, Bad: kind, To: s})
		})
	}}.Explore()
}

func main() { explore.Main(func() []explore.Model { return variants }) }
