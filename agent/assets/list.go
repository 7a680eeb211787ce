// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package assets reads lists of assets and knows the daemon's rules for them, as far as they can be told from the letters. What it
// takes for an asset the daemon may still refuse.
package assets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

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

// maxAsset is the API's limit, in bytes.
const maxAsset = 256

// Check says why something cannot be an asset, by those of the daemon's rules that can be told from its letters, or nothing.
func Check(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxAsset:
		return fmt.Sprintf("is longer than an asset can be, %d bytes", maxAsset)
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "has a control character"
	case strings.ContainsFunc(s, isInvisible):
		r, _ := utf8.DecodeRuneInString(s[strings.IndexFunc(s, isInvisible):])
		return fmt.Sprintf("has an invisible character, %U: type the line anew", r)
	case s == "." || s == "..":
		return "is . or .., which no asset can be"
	}
	return ""
}

// isInvisible says whether nothing of a character is seen, by the daemon's rule.
func isInvisible(r rune) bool {
	return r > unicode.MaxASCII && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

var hostForm = regexp.MustCompile(`^([A-Za-z0-9-]+\.)+([A-Za-z0-9-]+\.?)?$`)

// Canonical is an asset as the daemon writes it, so that one machine stands in a list once: an IP address in its shortest
// form, without brackets and without the IPv6 wrapping of an IPv4 address; a name with a dot in lower case and without a final
// one; anything else as it is.
func Canonical(s string) string {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().String()
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		if ip, err := netip.ParseAddr(s[1 : len(s)-1]); err == nil && ip.Is6() {
			return ip.Unmap().String()
		}
	}
	if hostForm.MatchString(s) {
		return strings.ToLower(strings.TrimSuffix(s, "."))
	}
	return s
}

// likeness is the same for assets that are different for the daemon and probably one machine: other case, other spaces, a URL
// with its scheme's port, a slash or a dot at the end.
func likeness(asset string) string {
	s := strings.ToLower(strings.Join(strings.Fields(asset), " "))
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
		u.Host = strings.TrimSuffix(u.Host, port)
		s = u.String()
	}
	return strings.TrimRight(s, "/.")
}

// maxNetwork is the most addresses that a network in a list may stand for.
const maxNetwork = 1 << 16

// network returns the addresses for which a network as 10.0.0.0/24 stands, without the two of an IPv4 network that are no
// machine's. is says whether it is one; reason, why it cannot be used.
func network(s string) (addrs []string, is bool, reason string) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return nil, false, ""
	}
	bits := p.Addr().BitLen() - p.Bits()
	switch {
	case p != p.Masked():
		return nil, true, fmt.Sprintf("is an address within a network: write %s, or %s", p.Masked(), p.Addr())
	case bits > 16:
		return nil, true, fmt.Sprintf("is a network of more than %d addresses: write smaller ones", maxNetwork)
	}
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		addrs = append(addrs, a.Unmap().String())
	}
	if p.Addr().Is4() && bits > 1 {
		addrs = addrs[1 : len(addrs)-1]
	}
	return addrs, true, ""
}

// IsNetwork says whether something is written as a network, which stands for its addresses in a list.
func IsNetwork(s string) bool {
	_, is, _ := network(s)
	return is
}

var taskForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// CheckTask says why something cannot be a task, by the daemon's rules, or nothing.
func CheckTask(s string) string {
	if !taskForm.MatchString(s) || s == "." || s == ".." {
		return "must have 1 to 128 of A-Z a-z 0-9 . _ - and not be . or .."
	}
	return ""
}
