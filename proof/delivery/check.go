// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

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
	return bits | notStuck
}
