// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"slices"
)

const (
	stale  = "stale write"
	zombie = "zombie mints the newest token"
	falls  = "token falls"
)

// walk yields the steps out of a state: do those that can be taken, bad violations that can be seen.
type walk struct {
	Run
	State
	do  func(step string, t State)
	bad func(kind, step string)
}

func (w *walk) redis() {
	t := w.State
	if w.lock != 0 {
		t.lock = 0
		w.do("the lock runs out", t)
	}
	if t = w.State; w.replica != w.Data {
		t.replica = w.Data
		w.do("the replica has it all", t)
	}
	if t = w.State; w.unawaited && w.spare != w.Data {
		t.spare = w.Data
		w.do("the other replica has it all", t)
	}
	if t = w.State; w.State.left.losses > 0 {
		if !w.noFlush {
			t.Data = Data{}
			t.left.losses--
			w.do("FLUSHALL", t)
		}
		w.do("failover", w.failover(w.replica, true))
		if w.unawaited {
			w.do("failover to the other replica", w.failover(w.spare, false))
		}
	}
	if t = w.State; w.State.left.backs > 0 {
		t.left.backs--
		t.back = true
		w.do("Redis' clock is set back", t)
	}
}

func (w *walk) claim(i int) {
	c, who, t := w.claimer[i], string(rune('A'+i)), w.State
	q := &t.claimer[i]
	again := Claimer{tries: c.tries, seen: c.seen}
	free := func() {
		if w.lock == c.grant.nonce {
			t.lock = 0
		}
		*q = again
	}
	switch c.at {
	case idle:
		if c.tries == 0 || w.lock != 0 {
			return
		}
		t.nonces++
		t.lock = t.nonces
		for task := range int8(2) {
			*q = Claimer{locked, Grant{nonce: t.nonces, task: task}, c.tries - 1, c.seen}
			w.do(fmt.Sprintf("%s locks, nonce %d, task %d", who, t.nonces, task), t)
		}
	case locked: // the mint, at any later time
		if !w.mintBlind && w.lock != c.grant.nonce {
			*q = again
			w.do(who+" finds its lock gone", t)
			return
		}
		g := Grant{w.token(w.State, c), c.grant.nonce, c.grant.task}
		t.grant, t.ticket[g.task] = g, g
		*q = Claimer{minted, g, c.tries, g.token}
		t.made[t.mints] = g.nonce
		t.mints++
		t.minted++
		if !w.back && g.token <= w.top || g.token <= w.own[i] {
			w.bad(falls, fmt.Sprintf("%s mints token %d", who, g.token))
		}
		w.do(fmt.Sprintf("%s mints token %d", who, g.token), t)
	case minted:
		has := w.replica.grant == c.grant
		switch {
		case !slices.Contains(w.made[:w.mints], c.grant.nonce): // the failover lost it
			q.at = locked
			w.do(who+" asks for its grant again", t)
		case has || w.noWait || w.goOn:
			q.at, t.top = told, max(w.top, c.grant.token)
			t.own[i] = max(w.own[i], c.grant.token)
			if has || w.noWait {
				t.sure |= 1 << c.grant.nonce
			}
			w.do(who+" is answered", t)
		}
		t = w.State
		free()
		w.do(who+" is told to try again", t)
	case told: // a write, at any later time; then it lets go
		made := w.made[:w.mints]
		newest := len(made) > 0 && made[len(made)-1] == c.grant.nonce
		if !newest && w.accepts(w.State, c.grant) {
			w.bad(stale, fmt.Sprintf("%s writes with token %d, and Redis accepts it", who, c.grant.token))
		}
		if newest && w.lock != c.grant.nonce && slices.Contains(made, w.lock) {
			w.bad(zombie, fmt.Sprintf("the newest token is %s's, so the writes of the lock's holder, nonce %d, are refused", who, w.lock))
		}
		free()
		w.do(who+" releases", t)
	}
}
