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
)

// Asset is what is to be worked on.
type Asset struct {
	Name string
	Line int // of a list; 0 when it stands in none
}

// BadLine is a line of a list that cannot be an asset.
type BadLine struct {
	Line   int
	Text   string // what stands there, as far as it can be shown
	Reason string
}

// List is what a list of assets says.
type List struct {
	Assets []Asset
	Bad    []BadLine
	Alike  []string // pairs of assets that are two for Picket and probably one machine, for people; the first few
}

// maxAlike is how many pairs are told.
const maxAlike = 20

// errNoAssets says that there is nothing to do: a list that something else has made is empty by mistake.
var errNoAssets = errors.New("it has no asset: a run over nothing would say that all is well")

// Read reads assets, one a line. Empty lines and those that begin with # are passed over; spaces around an asset, a
// carriage return and a byte order mark are no part of it; an asset that stands there twice counts once, in whatever way it is
// written (CanonicalAsset). A network as 10.0.0.0/24 stands for its addresses. What cannot be an asset is told with its line
// and does not stop the others. A list without a line is an error.
func Read(r io.Reader) (List, error) {
	lines := bufio.NewReaderSize(r, maxListLine)
	l := listReader{seen: map[string]bool{}, alike: map[string]Asset{}}
	for n := 1; ; n++ {
		line, long, err := readLine(lines)
		if err == io.EOF {
			if l.lines == 0 {
				return List{}, errNoAssets
			}
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
		asset := strings.TrimFunc(string(line), func(r rune) bool { return unicode.IsSpace(r) })
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
			l.Bad = append(l.Bad, BadLine{n, plain.Line(asset, maxAsset), reason})
			continue
		}
		for _, a := range addrs {
			if l.add(Asset{a, n}); len(l.Assets) > maxAssets {
				return List{}, fmt.Errorf("cannot read the list: it has more than %d assets: split it", maxAssets)
			}
		}
	}
}

type listReader struct {
	List
	seen  map[string]bool  // by canonical form
	alike map[string]Asset // the first of a likeness
	lines int              // that are not empty and no remark
}

func (l *listReader) add(a Asset) {
	canonical := Canonical(a.Name)
	if l.seen[canonical] {
		return
	}
	l.seen[canonical] = true
	l.Assets = append(l.Assets, a)
	if other, ok := l.alike[likeness(canonical)]; !ok {
		l.alike[likeness(canonical)] = a
	} else if len(l.Alike) < maxAlike {
		l.Alike = append(l.Alike, fmt.Sprintf("%q in line %d and %q in line %d are two assets, each with a lock and a ticket: if they are one machine, take one away",
			other.Name, other.Line, a.Name, a.Line))
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
