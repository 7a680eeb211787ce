// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package assets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/picketd/picket/agent/plain"
)

const (
	maxAssets   = 1 << 20 // of a list
	maxListLine = 4 << 10 // bytes that are read of a line
	maxBad      = 1000    // bad lines that are told one by one
	maxAlike    = 20      // pairs that are told
)

// errNoAssets says that there is nothing to do: a list that something else has made is empty by mistake.
var errNoAssets = errors.New("it has no asset: a run over nothing would say that all is well")

// Read reads assets, one a line. Empty lines and those that begin with # are passed over; spaces around an asset, a
// carriage return and a byte order mark are no part of it; an asset that stands there twice counts once, in whatever way it is
// written (Canonical). A network as 10.0.0.0/24 stands for its addresses. What cannot be an asset is told with its line
// and does not stop the others. A list without a line is an error.
func Read(r io.Reader) (List, error) {
	lines := bufio.NewReaderSize(r, maxListLine)
	l := listReader{names: table{key: func(name string) string { return name }}, likes: table{key: likeness}}
	for n := 1; ; n++ {
		line, long, err := readLine(lines)
		if err == io.EOF {
			if l.lines == 0 {
				return List{}, errNoAssets
			}
			l.names, l.likes = table{}, table{} // they have room for the sorting
			l.sort()
			return l.List, nil
		}
		if err != nil {
			return List{}, fmt.Errorf("cannot read the list: %w", err)
		}
		if n == 1 {
			if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
				return List{}, errors.New("cannot read the list: it is UTF-16, and must be UTF-8")
			}
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		asset := strings.TrimFunc(string(line), unicode.IsSpace)
		if strings.HasPrefix(asset, "#") || asset == "" && !long {
			continue
		}
		l.lines++
		addrs, isNetwork, reason := network(asset)
		switch {
		case long:
			reason = fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)
		case !isNetwork:
			addrs, reason = []string{asset}, Check(asset)
		}
		if reason != "" {
			if len(l.Bad) < maxBad {
				l.Bad = append(l.Bad, BadLine{n, plain.Line(asset, maxAsset), reason})
			} else {
				l.MoreBad++
			}
			continue
		}
		for _, a := range addrs {
			if l.add(a, n); l.Len() > maxAssets {
				return List{}, fmt.Errorf("cannot read the list: it has more than %d assets: split it", maxAssets)
			}
		}
	}
}

// listReader is a list that is being read.
type listReader struct {
	List
	names table
	likes table // the first of each likeness
	lines int   // that are not empty and no remark
}

// add takes an asset unless it is there.
func (l *listReader) add(written string, line int) {
	name := Canonical(written)
	if _, there := l.names.first(&l.List, name); there {
		return
	}
	if other, there := l.likes.first(&l.List, likeness(name)); there && len(l.Alike) < maxAlike {
		o := l.At(other)
		l.Alike = append(l.Alike, fmt.Sprintf("%q in line %d and %q in line %d are two assets, each with a lock and a ticket: if they are one machine, take one away",
			o.Name, o.Line, name, line))
	}
	l.append(name, line)
}

// table finds the assets of a list by a key that is made of their names. It takes at most eight bytes for each.
type table struct {
	key    func(name string) string
	places []uint32 // in the list, from 1, by the key's hash or behind it; 0 is free, and so is at least half
	used   int
}

// first returns the asset that has a key. If none has, the list's next asset is noted.
func (t *table) first(l *List, key string) (place int, there bool) {
	if 2*t.used >= len(t.places) {
		old := t.places
		t.places = make([]uint32, max(1<<10, 2*len(old)))
		for _, p := range old {
			if p > 0 {
				t.places[t.seek(l, t.key(string(l.name(int(p-1)))))] = p
			}
		}
	}
	at := t.seek(l, key)
	if p := t.places[at]; p > 0 {
		return int(p - 1), true
	}
	t.places[at] = uint32(l.Len() + 1)
	t.used++
	return 0, false
}

// seek returns where a key is, or is to be.
func (t *table) seek(l *List, key string) int {
	most := len(t.places) - 1
	for at := int(hash(key)) & most; ; at = (at + 1) & most {
		if p := t.places[at]; p == 0 || t.key(string(l.name(int(p-1)))) == key {
			return at
		}
	}
}

// readLine returns a line without its end; of one that is too long, the beginning. Its error is io.EOF behind the last line.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	part, err := r.ReadSlice('\n')
	line = bytes.Clone(part)
	for err == bufio.ErrBufferFull {
		long = true
		_, err = r.ReadSlice('\n')
	}
	if err == io.EOF && (len(line) > 0 || long) {
		err = nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), long, err
}
