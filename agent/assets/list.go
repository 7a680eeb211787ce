// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package assets reads lists of assets, and knows what an asset may be named, as far as that can be told from the letters. The
// daemon has its rules from here, and may refuse more.
package assets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Asset is what is to be worked on.
type Asset struct {
	Name string // as the daemon writes it
	Line int    // of a list; 0 when it stands in none
}

// BadLine is a line of a list that cannot be an asset.
type BadLine struct {
	Line   int
	Text   string // what stands there, as far as it can be shown
	Reason string
}

// List is what a list of assets says. Of an asset it keeps the name and ten bytes.
type List struct {
	Bad     []BadLine // the first few
	MoreBad int       // lines that cannot be assets beside those
	Alike   []string  // pairs of assets that are two for Picket and probably one machine, for people; the first few

	blocks [][]byte // the names, each behind a byte that is its length less one
	starts []uint32 // where in them each asset begins
	lines  []uint32 // where each stands in the list
}

// One is a list of one asset that stands in none.
func One(asset string) List {
	var l List
	l.append(Canonical(asset), 0)
	return l
}

// blockBits is the size of a block, as a power of two.
const blockBits = 18

func (l *List) append(name string, line int) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last])+1+len(name) > cap(l.blocks[last]) {
		l.blocks = append(l.blocks, make([]byte, 0, 1<<blockBits))
		last++
	}
	l.starts = append(l.starts, uint32(last<<blockBits+len(l.blocks[last])))
	l.lines = append(l.lines, uint32(line))
	l.blocks[last] = append(append(l.blocks[last], byte(len(name)-1)), name...)
}

// Len is the number of assets.
func (l *List) Len() int { return len(l.starts) }

// name is the name of an asset, which is good for as long as the list.
func (l *List) name(i int) []byte {
	b := l.blocks[l.starts[i]>>blockBits][l.starts[i]&(1<<blockBits-1):]
	return b[1 : 2+int(b[0])]
}

// At is the asset at a place of the list's order, which is the same for all lists of the same assets and follows nothing else that
// they have in common.
func (l *List) At(i int) Asset { return Asset{string(l.name(i)), int(l.lines[i])} }

// sort puts the assets into their order.
func (l *List) sort() {
	type place struct {
		hash  uint64
		start uint32
		line  uint32
	}
	places := make([]place, l.Len())
	for i := range places {
		places[i] = place{hash(l.name(i)), l.starts[i], l.lines[i]}
	}
	at := List{blocks: l.blocks, starts: make([]uint32, 2)}
	slices.SortFunc(places, func(a, b place) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		at.starts[0], at.starts[1] = a.start, b.start
		return strings.Compare(string(at.name(0)), string(at.name(1)))
	})
	for i, p := range places {
		l.starts[i], l.lines[i] = p.start, p.line
	}
}

// Compare says which of two names comes first in the order of every list.
func Compare(a, b string) int {
	return cmp.Or(cmp.Compare(hash(a), hash(b)), strings.Compare(a, b))
}

// hash is FNV-1a, 64 bits.
func hash[T string | []byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Digest is the same for all lists of the same assets, and for no others: SHA-256, in hexadecimal digits.
func (l *List) Digest() string {
	h := sha256.New()
	for i := range l.Len() {
		h.Write(l.name(i))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
