// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command claim is an explicit-state model of lock, mint, write, release (engine/doc.go).
// Two claimers on one asset, one or two claims each, each for one of two tasks. The lock may run out at any moment, and whoever has
// been granted may write at any later time: a frozen process is one that takes no step for long. Redis may lose everything once,
// or a failover may bring back once what a replica had: one that is waited for, or another. Its clock may be set back. Every
// interleaving is looked at. Each mutation leaves one check out and shows what that check is for.
//
//	go run ./proof/models/claim    the protocol as designed and with each mutation; exit 1 if the design fails or one is not caught
//
// What is looked for:
//
//	stale write                    one that Redis accepts from a claim that is not the newest. After a failover to a replica that was not
//	                               waited for, or without the wait (wait_else = "go_on"), the newest is that which the replica had
//	zombie mints the newest token  a holder of the lock whose writes are refused
//	token falls                    a grant with a token that is not above all that were answered; or, when Redis' clock was set back, not
//	                               above those that the same daemon has answered
package main

import "github.com/picketd/picket/proof/models/explore"

var (
	twice = [2]int8{2, 2}
	once  = [2]int8{1, 1}
	three = [2]int8{2, 1}
	loss  = Left{losses: 1}
	both  = Left{losses: 1, backs: 1}
)

// models are the designs, each with so many claims or with as many as make models gives it, and the mutations.
func models(tries [2]int8) (all []explore.Model) {
	design := func(name, what string, r Run) {
		if tries != [2]int8{} {
			r.tries = tries
		}
		all = append(all, explore.Design(name, what, r.explore))
	}
	mutation := func(name, what string, r Run) { all = append(all, explore.Mutation(name, what, r.explore)) }
	design("design", "as designed", Run{tries: twice, left: loss})
	design("design-back", "Redis' clock is set back", Run{tries: twice, left: both})
	design("design-unawaited", "a failover to a replica that is not waited for", Run{unawaited: true, tries: three, left: both})
	design("design-go-on", "wait_else = \"go_on\"", Run{goOn: true, tries: twice, left: both})
	mutation("mint-without-lock", "mint without the lock check", Run{Rules: Rules{mintBlind: true}, tries: once, left: loss})
	mutation("no-nonce", "token only, no nonce", Run{Rules: Rules{noNonce: true}, tries: once, left: both})
	mutation("at-least", "token >=, no nonce", Run{Rules: Rules{noNonce: true, atLeast: true}, tries: once, left: both})
	mutation("own-token", "the ticket's own token, not the asset's", Run{Rules: Rules{ownToken: true}, tries: once, left: loss})
	mutation("no-wait", "answered before the replica has the grant", Run{Rules: Rules{noWait: true}, tries: once, left: loss})
	mutation("no-clock", "a token may be below Redis' clock", Run{Rules: Rules{noClock: true}, tries: once, left: loss})
	mutation("no-clock-go-on", "the same, a failover, go_on", Run{Rules: Rules{noClock: true}, goOn: true, noFlush: true, tries: once, left: loss})
	mutation("no-clock-unawaited", "the same, a failover to another replica", Run{Rules: Rules{noClock: true}, unawaited: true, noFlush: true, tries: once, left: loss})
	mutation("no-seen", "a token may be below what its daemon has seen", Run{Rules: Rules{noSeen: true}, tries: three, left: both})
	return all
}

func main() { explore.Main(func() []explore.Model { return models([2]int8{}) }) }
