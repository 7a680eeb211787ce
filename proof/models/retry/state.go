// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// The ticket in Redis.
const (
	notifying = iota
	notified
	failed // a channel is dead, and none is open
)

// A channel on the ticket.
const (
	pending = iota
	sending // an attempt
	parked  // for a person; only if at_most_once
	dead    // the receiver refused it for good
	sent
)

// A channel of an entry, at a host. What is durable says so; a crash takes the others back.
const (
	absent   = iota // durable: it was sent when the retry was made
	open            // durable
	taken           // has its attempt, about to send
	accepted        // sent, the outcome not yet in the outbox
	refused         // the same, and the receiver said no
	begun           // durable: a send was begun, of which nobody knows more; only if at_most_once
	gotSent         // durable: the outcome is here, and not known to be on the ticket
	gotDead
	gotParked
	toldSent // durable: it is on the ticket, too
	toldDead
	waits // durable: parked on the ticket
)

// An entry of an outbox.
const (
	none = iota
	staged
	sendable // committed or adopted
	shut     // its outcomes stay
)

// An operator's call at a host; forgotten in a crash.
const (
	noCall  = iota
	asks    // staged, the script is next
	written // the script said OK
)

const (
	hosts    = 2
	channels = 2
	intents  = 3 // the agent's, and two retries
)

// Ticket is what Redis has.
type Ticket struct {
	s, intent, known, owner uint8 // known: the intents (bits) that it had
	ch                      [channels]Channel
}

// Channel is one on the ticket. The attempt's identity is that of a run of a host, and the intent.
type Channel struct{ is, host, run, intent, lease uint8 }

// Entry is an intent in an outbox.
type Entry struct {
	at, after uint8 // after: the intent that a retry replaces
	ch        [channels]uint8
}

// Write is the script of a retry: this intent for that one, and the channels (bits) that are to be tried again.
type Write struct{ intent, before, again uint8 }

// Host is a daemon with its outbox.
type Host struct {
	gone, down uint8
	run        uint8 // counts its crashes
	call       uint8
	write      Write
	box        [intents]Entry
}

// Left is how often each fault may still strike. A retry, and a receiver's no on channel 0, are bounded like them.
type Left struct{ retry, no, crash, death, lost, late, expire, loss uint8 }

func (l Left) faults() uint8 { return l.crash + l.death + l.lost + l.late + l.expire + l.loss }

// State is everything. It is a map key.
type State struct {
	Ticket
	before Ticket // as it was before the newest retry; a failover may bring it back
	host   [hosts]Host
	late   Write // under way though its caller gave up, or a copy; intent 0: none
	lateBy uint8
	left   Left
	// What only the checker knows:
	ids     uint8           // retries that were staged
	counted uint8           // retries (bits) that were a person's word
	allowed [channels]uint8 // arrivals that have an excuse: the first, a retry's, those that only the key can tell
	due     uint8           // channels (bits) on which something accepted was not sent yet
	data    uint8           // Redis has lost data
}

func start(left Left) State {
	s := State{left: left, allowed: [channels]uint8{1, 1}, due: 1<<channels - 1}
	s.known = 1
	s.host[0].box[0] = Entry{at: sendable, ch: [channels]uint8{open, open}}
	return s
}

// settle is the end of NOTIFYING, when every channel is sent or dead.
func (t *Ticket) settle(k int, as uint8) {
	t.ch[k] = Channel{is: as}
	for _, ch := range t.ch {
		if ch.is < dead {
			return
		}
	}
	t.s = notified
	for _, ch := range t.ch {
		if ch.is == dead {
			t.s = failed
		}
	}
}

// shutDone closes an entry of which nothing is to be done any more.
func (e *Entry) shutDone() {
	for _, is := range e.ch {
		if is != absent && is != toldSent && is != toldDead {
			return
		}
	}
	e.at = shut
}

func (s *State) pardon(k int, once bool) {
	if !once {
		s.allowed[k] = min(s.allowed[k]+1, 3)
	}
}

// arrive counts a send, and says what is wrong with it.
func (s *State) arrive(k int, once bool) (bad string) {
	switch {
	case s.data == 1:
	case s.allowed[k] > 0:
		s.allowed[k]--
	case once:
		bad = "once"
	default:
		bad = "repeat"
	}
	return bad
}
