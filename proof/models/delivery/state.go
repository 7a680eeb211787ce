// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

// The ticket in Redis.
const (
	gone = iota
	highRisk
	notifying
	notified
	discarded // by an operator
	reopened  // by an operator: in a later run, of which no more is told here
)

// A channel on the ticket, `delivery.<channel>`. From sent on it is settled.
const (
	pending  = iota
	sending0 // an attempt of host 0, its lease alive
	sending1 // an attempt of host 1
	unknown  // the lease is over, no outcome. Only for at_most_once: otherwise that is pending again
	sent
	parked
)

// A channel at a host.
const (
	idle    = iota
	taken   // about to send; forgotten in a crash
	out     // sent, the outcome not yet in the outbox; forgotten in a crash
	receipt // the outcome is in the outbox
)

// An entry in an outbox, durable.
const (
	empty   = iota
	staged  // not sendable
	own     // sendable, confirmed by the host's own NOTIFYING write
	adopted // sendable, the content taken from the ticket
)

// A notify call at a host; forgotten in a crash.
const (
	noCall = iota
	called // staged
	hinted
	written   // NOTIFYING is confirmed
	stands    // Redis said that another's content stands
	committed // the own content is sendable; next is the 202
	committedOther
)

// A host.
const (
	down = iota
	up
	dead // for good, with its outbox
)

const nobody = 2 // for a host or a content

// Host is a daemon with its outbox.
type Host struct {
	up, cut, believes uint8 // believes: an agent here thinks that it holds the claim
	call              uint8
	box, text, rev    uint8 // the entry, its content, and the ticket's revision that it remembers (see revisionOnly)
	ch                [2]uint8
	fresh             uint8    // the ticket named the entry as this host's own within the last seconds
	heeded            uint8    // it is known here that the entry was decided against
	begun             [2]uint8 // the outbox says that a send of the entry was begun; on at_most_once channels
	broken            uint8    // another may have taken the entry over: this host crashed, was cut or frozen since it was staged
}

// Faults are how often each may strike. The last two are not faults, but bounded like them: claims (by a host that has not
// the newest grant), and writes of something else in HIGH_RISK (only revisionOnly sees those).
type Faults struct {
	crash, death, lost, expire, flush, rollback, failover, cut, discard, reopen, copy, claim, other uint8
}

// sum leaves out what is no fault.
func (f Faults) sum() uint8 {
	return f.crash + f.death + f.lost + f.expire + f.flush + f.rollback + f.failover + f.cut + f.discard + f.reopen + f.copy
}

// State is everything.
type State struct {
	s, text, rev, grant, owner, hint uint8 // Redis; text is the content that the ticket carries since its NOTIFYING write
	ch                               [2]uint8
	replicated                       uint8    // the replica has the newest NOTIFYING write; only a failover asks
	late                             uint8    // whose NOTIFYING write is still under way though its caller gave up
	n                                [2]uint8 // attempts that a channel has had
	copied, copiedAt                 [2]uint8 // whose question for an attempt is on its way once more (host + 1), and what n was
	host                             [2]Host
	left                             Faults
	// What only the checker knows:
	data   uint8    // Redis has lost data
	said   [2]uint8 // by content: the hosts (bits) that said 202
	out    [2]uint8 // by channel: the contents (bits) that were sent
	parked [2]uint8 // by channel: the contents that were parked
	disc   uint8    // the contents that were discarded, or reopened
	old    uint8    // those of them of which that is longer ago than seconds
	heard  uint8    // the hosts (bits) that could ask the ticket of it meanwhile
	gave   [2]uint8 // by channel: the contents that gave way, because another was told
	excuse [2]uint8 // by channel: excuses not used up
}

// key is a State in 125 bits.
type key [2]uint64

// coder packs fields into a word, the first one lowest, or unpacks them in the same order.
type coder struct {
	word   uint64
	room   uint
	unpack bool
}

// f is the next fields, which take so many bits each.
func (c *coder) f(bits uint, fields ...*uint8) {
	for _, v := range fields {
		if c.unpack {
			*v = uint8(c.word & (1<<bits - 1))
			c.word >>= bits
		} else {
			c.word = c.word>>bits | uint64(*v)<<(64-bits)
			c.room -= bits
		}
	}
}

func (c *coder) redisAndHosts(s *State) {
	c.f(1, &s.hint)
	c.f(2, &s.text, &s.grant, &s.owner, &s.late)
	c.f(3, &s.s, &s.rev, &s.ch[0], &s.ch[1])
	for h := range s.host {
		p := &s.host[h]
		c.f(1, &p.cut, &p.believes, &p.text, &p.fresh, &p.heeded, &p.begun[0], &p.begun[1])
		c.f(2, &p.up, &p.box, &p.ch[0], &p.ch[1])
		c.f(3, &p.call, &p.rev)
	}
}

func (c *coder) rest(s *State) {
	n := &s.left
	c.f(1, &s.replicated, &n.failover, &n.death, &n.flush, &n.rollback, &n.discard, &n.reopen, &n.copy, &n.other)
	c.f(2, &n.crash, &n.lost, &n.expire, &n.cut, &n.claim)
	c.f(1, &s.data, &s.host[0].broken, &s.host[1].broken)
	c.f(2, &s.disc, &s.old, &s.heard)
	for i := range 2 {
		c.f(2, &s.said[i], &s.out[i], &s.parked[i], &s.gave[i], &s.n[i], &s.copied[i], &s.copiedAt[i])
		c.f(3, &s.excuse[i])
	}
}

func pack(s *State) key {
	a, b := coder{room: 64}, coder{room: 64}
	a.redisAndHosts(s)
	b.rest(s)
	return key{a.word >> a.room, b.word >> b.room}
}

func unpack(k key) (s State) {
	a, b := coder{word: k[0], unpack: true}, coder{word: k[1], unpack: true}
	a.redisAndHosts(&s)
	b.rest(&s)
	return s
}

// pardon is an excuse for one more send on a channel.
func (s *State) pardon(k int, once bool) {
	if s.data == 0 && !once {
		s.excuse[k] = min(s.excuse[k]+1, 7)
	}
}

// send counts a send and says what is wrong with it.
func (s *State) send(k int, once bool, text uint8) (bad string) {
	before, all := s.out[k], s.out[0]|s.out[1]
	s.out[k] |= 1 << text
	switch {
	case s.data == 1:
	case all&^(1<<text) != 0:
		bad = "contents"
	case before == 0:
	case once:
		bad = "once"
	case s.excuse[k] == 0:
		bad = "repeat"
	default:
		s.excuse[k]--
	}
	return bad
}

// What is to be reached, in bits: content c on channel k is dealt with (bit 2c+k); NOTIFYING is left.
const notStuck = 1 << 4

func (s *State) reached() (bits uint8) {
	for i := range 4 {
		if c, k := i/2, i%2; (s.out[k]|s.parked[k]|s.gave[k]|s.disc)>>c&1 == 1 {
			bits |= 1 << i
		}
	}
	if s.s != notifying {
		bits |= notStuck
	}
	return bits
}

func (s *State) owed(channels int) (bits uint8) {
	for c, by := range s.said {
		for h, p := range s.host {
			if s.data == 1 && p.up == dead {
				by &^= 1 << h
			}
		}
		for k := 0; k < channels && by != 0; k++ {
			bits |= 1 << (2*c + k)
		}
	}
	return bits
}
