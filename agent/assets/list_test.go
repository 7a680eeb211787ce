// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package assets

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// inOrder are the assets of a list in the order of their lines.
func inOrder(l List) []Asset {
	var all []Asset
	for i := range l.Len() {
		all = append(all, l.At(i))
	}
	slices.SortFunc(all, func(a, b Asset) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Name, b.Name)) })
	return all
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxListLine)
	l, err := Read(strings.NewReader("\ufeffweb-01\r\n\r\n# comment\n  # another\n\tdb 01 \nweb-01\n\xff\n" + long + "\n#" + long +
		"\n..\na\x00b\n" + strings.Repeat("y", 257) + "\n名\nlast"))
	if want := []Asset{{"web-01", 1}, {"db 01", 5}, {"名", 13}, {"last", 14}}; err != nil || !slices.Equal(inOrder(l), want) {
		t.Errorf("assets: %v, %v", inOrder(l), err)
	}
	var lines []int
	for _, b := range l.Bad {
		lines = append(lines, b.Line)
	}
	if want := []int{7, 8, 10, 11, 12}; !slices.Equal(lines, want) || l.Bad[3].Text != "a b" || len(l.Bad[1].Text) > maxAsset {
		t.Errorf("bad lines: %v, want %v", l.Bad, want)
	}
	if _, err := Read(strings.NewReader("\xff\xfea\x00\n\x00")); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("UTF-16: %v", err)
	}
	for _, empty := range []string{"", "\n# nothing\n \n"} {
		if _, err := Read(strings.NewReader(empty)); !errors.Is(err, errNoAssets) {
			t.Errorf("an empty list: %v", err)
		}
	}
}

// TestWhatCannotBeSeenIsRefusedWithItsLine: it would give one machine two locks, and nobody could see why.
func TestWhatCannotBeSeenIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	l, err := Read(strings.NewReader("10.0.0.1\n10.0.0.2\u200b\n\ufeff10.0.0.3\nweb\u00ad1\nweb\ufe0f\nb\u3164\n"))
	if err != nil || l.Len() != 1 || len(l.Bad) != 5 {
		t.Fatalf("%+v, %v", l, err)
	}
	if got := l.Bad[0].Reason; got != "has an invisible character, U+200B: type the line anew" {
		t.Errorf("it says %s", got)
	}
}

func TestOneMachineInTwoSpellingsIsOneAsset(t *testing.T) {
	t.Parallel()
	l, err := Read(strings.NewReader("::1\n[::1]\n0:0::1\nWeb.example.org\nweb.example.org.\nWeb-9\nweb-9\nhttp://A.example/\nhttp://a.example:80\n"))
	if err != nil || l.Len() != 6 || len(l.Alike) != 2 || !strings.Contains(l.Alike[0], `"Web-9" in line 6 and "web-9" in line 7 are two assets`) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestANetworkStandsForItsAddresses(t *testing.T) {
	t.Parallel()
	l, err := Read(strings.NewReader("192.0.2.2\n192.0.2.0/29\n192.0.2.9/31\n192.0.2.8/31\n2001:db8::/126\n10.0.0.0/8\n::/64\n"))
	var names []string
	for _, a := range inOrder(l) {
		names = append(names, a.Name)
	}
	want := "192.0.2.2 192.0.2.1 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.8 192.0.2.9 2001:db8:: 2001:db8::1 2001:db8::2 2001:db8::3"
	if got := strings.Join(names, " "); err != nil || got != want || len(l.Bad) != 3 {
		t.Errorf("it stands for %s, %v, %v", got, l.Bad, err)
	}
	if !strings.Contains(l.Bad[0].Reason, "write 192.0.2.8/31, or 192.0.2.9") || !strings.Contains(l.Bad[1].Reason, "more than 65536 addresses") {
		t.Errorf("it says %v", l.Bad)
	}
}

// TestTheSameAssetsAreTheSameList: in whatever order and spelling, with whatever beside them; and one asset more is another list.
func TestTheSameAssetsAreTheSameList(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("web-%d.example.org", i))
	}
	read := func() List {
		l, err := Read(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one := read()
	slices.Reverse(lines)
	lines[7] = strings.ToUpper(lines[7]) + "."
	lines = append(lines, "# nothing", lines[3], "\x01")
	other := read()
	if one.Len() != 5000 || other.Len() != 5000 || one.Digest() != other.Digest() {
		t.Errorf("%d assets with the digest %s, and %d with %s", one.Len(), one.Digest(), other.Len(), other.Digest())
	}
	for i := range one.Len() {
		if a, b := one.At(i).Name, other.At(i).Name; a != b {
			t.Fatalf("at %d stands %s in the one and %s in the other", i, a, b)
		}
	}
	lines = append(lines, "db-01")
	if more := read(); more.Len() != 5001 || more.Digest() == one.Digest() {
		t.Error("a longer list has the same digest")
	}
}

// TestBadLinesAreBounded: all count, the first are told.
func TestBadLinesAreBounded(t *testing.T) {
	t.Parallel()
	l, err := Read(strings.NewReader("web-01\n" + strings.Repeat("..\n", maxBad+7)))
	if err != nil || l.Len() != 1 || len(l.Bad) != maxBad || l.MoreBad != 7 || l.Bad[maxBad-1].Line != maxBad+1 {
		t.Errorf("%d assets, %d bad lines and %d more, %v", l.Len(), len(l.Bad), l.MoreBad, err)
	}
}

// Whatever a list holds, what is taken from it can be an asset, once.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\ufeffa\r\nb # c\n\n#\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		l, _ := Read(bytes.NewReader(doc))
		seen := map[string]bool{}
		for _, a := range inOrder(l) {
			if Check(a.Name) != "" || a.Name != strings.TrimSpace(a.Name) || seen[a.Name] {
				t.Errorf("%q is taken for an asset", a.Name)
			}
			seen[a.Name] = true
		}
	})
}
