// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// Data is which data a master has, as far as that is told: which server it is, which of the losses that came before was the last, and, of
// those, the last that was no promotion.
type Data struct{ server, promoted, flushed int8 }

// Standing names the data of both masters.
type Standing [2]Data

const (
	marksAt  = iota // the master with the marks
	ticketAt        // the one with the ticket
)

// Marks are the task's, as one server has them. Epochs are numbered from 1; 0 is none.
type Marks struct {
	epoch     int8
	reopening int8 // an epoch, while a ticket may be reopened
	marked    bool
	of        Standing // of the mark
	aged      bool     // the ticket that the mark rests on has expired since
}

// Basis is what an answer rests on.
type Basis struct {
	epoch int8
	of    Standing
}

// Call is one that asks for the chunk, at a daemon.
type Call struct {
	at     int8
	basis  Basis
	open   bool // marks may be made in that epoch
	check  bool // a run asks whether all holds
	forRun bool
	sure   bool // nothing was lost since the daemon had looked
}

const (
	idle     = iota
	began    // knows which data Redis has, as the daemon does
	hasEpoch // no mark counted
	hasBoth  // the ticket is terminal
)

// Daemon is one of the two.
type Daemon struct {
	dead   bool
	knows  Standing // which data Redis had when it looked
	looked bool     // since the last loss
	call   Call
}

// How far a run is.
const (
	toLook  = iota
	toWork  // the asset is not done
	toCheck // it is
	ended
)

// How far a reopen is.
const (
	none     = iota
	unmarked // the marks are away; next is the ticket
	sent     // nobody waits for it any more, and it may land
	opened   // the ticket is open; the marks are to be taken away again
)

// Left are the events that may still come.
type Left struct{ reopens, losses, deaths, others int8 }

// State is everything.
type State struct {
	data     Standing
	marks    [2]Marks // of the master, and of its replica
	terminal [2]bool  // the ticket, likewise
	damaged  bool     // it is known to lack something
	daemon   [2]Daemon
	run      int8
	saw      Basis // by the run
	reopen   int8  // daemon 1's
	epochs   int8  // that were made
	left     Left
	n        int8 // losses

	pending bool // the checker's: a reopen is under way, or was a moment ago and got no answer
	untold  bool // likewise: while one was, the marks' master lost its data
	expired bool // likewise: the ticket has expired
}

func start(left Left) State {
	s := State{left: left}
	s.daemon[0].looked, s.daemon[1].looked = true, true
	return s
}

func (s *State) fresh() int8 {
	s.epochs++
	return s.epochs
}

// lose is that a master's data are not what they were: promoted says that its replica follows it.
func (s *State) lose(master int, promoted, told bool) {
	s.left.losses--
	s.n++
	s.untold = s.untold || master == marksAt && s.pending
	d := &s.data[master]
	switch {
	case !promoted:
		d.flushed = s.n
	case told:
		d.server, d.promoted = 1-d.server, s.n
	default:
		d.server = 1 - d.server
	}
	for i := range s.daemon {
		s.daemon[i].looked, s.daemon[i].call.sure = false, false
	}
	if s.left.losses == 0 { // the replicas matter no more
		s.marks[1], s.terminal[1] = Marks{}, false
	}
}
