// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Command takeover is an explicit-state model of how daemons take over from one another what they answer for (engine/delivery/takeover.go,
// sweep.go): three daemons, one ticket in NOTIFYING, a set of hints for each daemon and one of what is offered. Any of them may stand still
// between two steps and be taken for gone, crash and come back, die for good with its outbox, or have the channel no more.
//
//	go run ./proof/models/takeover               the design, and each rule left out; exit 1 if the design fails or one is not caught
//	go run ./proof/models/takeover -only NAME    one of them
//
// What is looked for:
//
//	forgotten  no steps but faults lead to a send, though a daemon lives that can deliver
//
// The hourly walk, which puts hints back, is left out: nothing here may need it. That two do not send at once is for the model of a
// delivery; here whoever has the content sends.
package main

import "github.com/picketd/picket/proof/models/explore"

var (
	two    = Left{deaths: 2, crashes: 1}
	design = Left{deaths: 2, crashes: 1, stills: 1, unables: 1}
)

var variants = []explore.Model{
	explore.Design("design", "as designed", Run{Rules{}, design}.explore),
	explore.Mutation("hint-after", "the own hint is put after the ownership", Run{Rules{hintAfter: true}, two}.explore),
	explore.Mutation("drop-first", "the hint of who is gone is dropped before the ownership", Run{Rules{dropFirst: true}, two}.explore),
	explore.Mutation("drop-young", "the hint of an offer that is under way is dropped", Run{Rules{dropYoung: true}, Left{deaths: 1, unables: 1}}.explore),
	explore.Mutation("offer-first", "given away before the hint of what is offered is put", Run{Rules{offerFirst: true}, Left{crashes: 1, unables: 1}}.explore),
	explore.Mutation("no-offer", "kept by one that has the channel no more", Run{Rules{noOffer: true}, Left{unables: 1}}.explore),
}

func main() { explore.Main(func() []explore.Model { return variants }) }
