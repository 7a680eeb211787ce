// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import "slices"

// Rules are what the mutations break. The zero value is the design.
type Rules struct {
	mintBlind bool // the minting script does not check that the lock still carries this claim's nonce
	noNonce   bool // a write need not bring the newest grant's nonce
	atLeast   bool // its token may be above the newest one
	ownToken  bool // it is compared with what the ticket itself remembers, not with the asset's grant
	noWait    bool // a claim is answered before the replica has its grant (wait_replicas), as if it had it
	noClock   bool // a token may be below Redis' clock
	noSeen    bool // a token may be below what this daemon has seen
}

// Run is one exploration.
type Run struct {
	Rules
	unawaited bool // there is a replica that is not waited for
	goOn      bool // wait_else = "go_on"
	noFlush   bool // what is lost is lost in a failover
	tries     [2]int8
	left      Left
}

// Grant is what Redis remembers of a claim. Nonces are numbered from 1; 0 is none.
type Grant struct{ token, nonce, task int8 }

const (
	idle   = iota
	locked // has the lock, no token yet
	minted // has the grant, and waits for the replica
	told   // its claim is answered: it may write, now or much later
)

// Claimer is one process, on a daemon of its own.
type Claimer struct {
	at    int8
	grant Grant
	tries int8
	seen  int8 // the highest token that its daemon knows of
}

// Data is what a server of Redis has.
type Data struct {
	lock   int8     // the holder's nonce
	grant  Grant    // the asset's newest grant
	ticket [2]Grant // what each ticket remembers of its own last grant
}

// Left is what may still happen: losses are FLUSHALLs and failovers, backs steps of Redis' clock.
type Left struct{ losses, backs int8 }

// State is Redis, the two claimers and what the checker remembers. It is a map key.
type State struct {
	Data
	replica Data // which is waited for
	spare   Data // which is not
	claimer [2]Claimer
	nonces  int8 // nonces used up
	minted  int8 // grants so far: Redis' clock, which goes on between two of them
	back    bool // the clock was set far back
	left    Left
	// What only the checker knows:
	made  [4]int8 // nonces in the order in which they were minted, without those that a failover may lose and did
	mints int8
	sure  int8 // the nonces (bits) whose claim was answered when the replica had the grant
	top   int8 // the highest token that was answered, and those by claimer
	own   [2]int8
}

// failover makes a server with this data the master. What it lacks is lost, and no promise is broken but to those who are sure, if it is
// the replica that is waited for.
func (s State) failover(to Data, awaited bool) State {
	t := s
	t.Data, t.made, t.mints = to, [4]int8{}, 0
	t.left.losses--
	kept := slices.Index(s.made[:s.mints], to.grant.nonce)
	for i, nonce := range s.made[:s.mints] {
		if i <= kept || awaited && s.sure>>nonce&1 == 1 {
			t.made[t.mints] = nonce
			t.mints++
		}
	}
	return t
}

// token is that of a new grant.
func (r Rules) token(s State, c Claimer) int8 {
	token := s.grant.token + 1
	if !r.noClock && !s.back {
		token = max(token, s.minted+1)
	}
	if !r.noSeen {
		token = max(token, c.seen+1)
	}
	return token
}

// accepts is the check that Redis makes in one script with the write.
func (r Rules) accepts(s State, g Grant) bool {
	newest := s.grant
	if r.ownToken {
		newest = s.ticket[g.task]
	}
	return (g.token == newest.token || r.atLeast && g.token > newest.token) &&
		(g.nonce == newest.nonce || r.noNonce) &&
		(g.task == newest.task || r.ownToken)
}
