// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// Rules are what the mutations break. The zero value is the design.
type Rules struct{ hintAfter, dropFirst, dropYoung, offerFirst, noOffer bool }

// Left is how often each fault may still strike.
type Left struct{ deaths, crashes, stills, unables int8 }

const (
	daemons = 3
	offered = daemons // whose set is that of what is offered
)

const (
	lives = iota
	still // taken for gone
	dead
)

// Where a daemon is with the ticket. From adopted on the content is in its outbox.
const (
	idle     = iota
	adopted  // next is its own hint
	hinted   // next is the ownership
	owns     // next is that the other's hint goes
	drops    // the ticket is not the other's: its hint is to go
	offering // it has the channel no more: the offer's hint stands
)

// Daemon is one, with its outbox.
type Daemon struct {
	status   int8
	unable   bool // has the channel no more
	box      bool // has the content
	at       int8
	from     int8 // whose hint it looks at
	score    int8 // of that hint, as it was read
	yielding bool // sends it no more
}

// State is everything. The owner is a daemon, or offered.
type State struct {
	daemon [daemons]Daemon
	hint   [daemons + 1]int8 // scores; 0: none
	scores int8              // that were given
	owner  int8
	sent   bool
	left   Left
}

func start(left Left) State {
	s := State{left: left, scores: 1}
	s.hint[0], s.daemon[0].box = 1, true
	return s
}

func (s *State) put(set int8) {
	s.scores = min(s.scores+1, 6)
	s.hint[set] = s.scores
}
