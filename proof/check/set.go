// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

// places is how many ops can be under way at once.
const places = 256

// set is a set of places.
type set [places / 64]uint64

func (s set) has(place int) bool { return s[place/64]&(1<<(place%64)) != 0 }

func (s set) with(place int) set {
	s[place/64] |= 1 << (place % 64)
	return s
}

func (s set) without(place int) set {
	s[place/64] &^= 1 << (place % 64)
	return s
}

func (s set) and(other set) set {
	for i := range s {
		s[i] &= other[i]
	}
	return s
}

func (s set) or(other set) set {
	for i := range s {
		s[i] |= other[i]
	}
	return s
}

func (s set) within(other set) bool { return s.and(other) == s }
