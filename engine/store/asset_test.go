// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAssetCanonicalises(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"web-01":                         "web-01",
		"WEB-01":                         "WEB-01", // no dot: not a host name for certain
		"WEB-01.":                        "web-01",
		"Web-01.Example.COM":             "web-01.example.com",
		"Web-01.Example.COM.":            "web-01.example.com",
		"web..example":                   "web..example",
		"A..b":                           "A..b",
		"a.b..":                          "a.b..",
		".A.b":                           ".A.b",
		"_dmarc.Example.com":             "_dmarc.Example.com",
		"BÜRO.example":                   "BÜRO.example",
		"\u212a.example":                 "\u212a.example", // the Kelvin sign, whose lower case is an ASCII k
		"CMDB 4711":                      "CMDB 4711",
		"主机-01":                          "主机-01",
		"a/b{c}:d%e f":                   "a/b{c}:d%e f",
		"192.0.2.7":                      "192.0.2.7",
		"192.0.2.7.":                     "192.0.2.7",
		"192.0.2.07":                     "192.0.2.07",
		"192.0.2.0/24":                   "192.0.2.0/24",
		"192.0.2.7:443":                  "192.0.2.7:443",
		"2001:DB8:0:0:0:0:0:1":           "2001:db8::1",
		"[2001:db8::1]":                  "2001:db8::1",
		"[2001:db8::1]:443":              "[2001:db8::1]:443",
		"[192.0.2.7]":                    "[192.0.2.7]",
		"FE80::1%Eth0":                   "fe80::1%Eth0",
		"[fe80::1%eth0]":                 "fe80::1%eth0",
		"::ffff:192.0.2.7":               "192.0.2.7",
		"::FFFF:C000:0207":               "192.0.2.7",
		"[::ffff:192.0.2.7]":             "192.0.2.7",
		"...":                            "...",
		strings.Repeat("a", 256):         strings.Repeat("a", 256),
		strings.Repeat("机", 85) + "a":    strings.Repeat("机", 85) + "a",
		strings.Repeat("A", 254) + ".b":  strings.Repeat("a", 254) + ".b",
		"fe80::1%" + "a/b":               "fe80::1%a/b",
		strings.Repeat(".", 3) + "/.../": ".../.../",
	} {
		if got, err := ParseAsset(in); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestG11_ParseAssetRefuses(t *testing.T) {
	t.Parallel()
	for in, saying := range map[string]string{
		"":                       "1 to 256 bytes",
		strings.Repeat("a", 257): "1 to 256 bytes",
		strings.Repeat("机", 86):  "1 to 256 bytes",
		"secret\xff":             "UTF-8",
		"secret\xed\xa0\x80":     "UTF-8", // a surrogate
		"secret\x00":             "control",
		"sec\nret":               "control",
		"secret\x7f":             "control",
		"sec\u0085ret":           "control",
		"sec\u2028ret":           "line separators",
		"sec\u2029ret":           "line separators",
		"sec\u200bret":           "invisible character, such as U+200B",
		"\ufeffsecret":           "invisible",
		"sec\u00adret":           "invisible",
		"secret\ufe0f":           "invisible",
		" secret":                "space",
		"secret ":                "space",
		"secret\u3000":           "space",
		"\u00a0secret":           "space",
		".":                      "must not be",
		"..":                     "must not be",
		"[fe80::1%secret ]":      "space",
		"1:2::4:5:6:7:8%" + strings.Repeat("s", 241): "1 to 256 bytes", // :: becomes :0:
	} {
		got, err := ParseAsset(in)
		if !errors.Is(err, ErrInvalidAsset) || got != "" {
			t.Fatalf("%q: %q, %v", in, got, err)
		}
		if !strings.Contains(err.Error(), saying) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: says %q, should say %q and no part of the value", in, err, saying)
		}
	}
}

// TestWhatWasRecordedBeforeCanBeRead: an asset with an invisible character, which is refused now, does not break a listing.
func TestWhatWasRecordedBeforeCanBeRead(t *testing.T) {
	t.Parallel()
	const old = "web\u200b-1"
	if a, err := DecodeEnc(Asset(old).Enc()); err != nil || a != old {
		t.Errorf("it is read as %q, %v", a, err)
	}
	if id, err := ParseTicketID(old + "/w48"); err != nil || id.Asset != old {
		t.Errorf("its ticket is read as %v, %v", id, err)
	}
}

func TestParseTask(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"w48", "A-Z_0.9", "...", "-", strings.Repeat("t", 128)} {
		if got, err := ParseTask(in); err != nil || got != in {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", ".", "..", "a b", "a/b", "a~2", "a%20", "ü", "a\n", "\xff", strings.Repeat("t", 129)} {
		if got, err := ParseTask(in); !errors.Is(err, ErrInvalidTask) || got != "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestTicketIDKeyAndParse(t *testing.T) {
	t.Parallel()
	id, err := ParseTicketID("Net/10.0.0.0/w48")
	if want := (TicketID{Asset: "Net/10.0.0.0", Task: "w48"}); err != nil || id != want {
		t.Fatalf("%v, %v", id, err)
	}
	for run, want := range map[int64]string{
		0: "Net%2F10.0.0.0/w48", 1: "Net%2F10.0.0.0/w48", 2: "Net%2F10.0.0.0/w48~2", 11: "Net%2F10.0.0.0/w48~11",
	} {
		if got := id.Key(run); got != want {
			t.Errorf("run %d: %s", run, got)
		}
	}
	for in, want := range map[string]error{"": ErrInvalidTask, "a": ErrInvalidTask, "a/": ErrInvalidTask, "/t": ErrInvalidAsset, "a/t t": ErrInvalidTask} {
		if got, err := ParseTicketID(in); !errors.Is(err, want) || got != (TicketID{}) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestDecodeEncTakesOnlyWhatEncMakes(t *testing.T) {
	t.Parallel()
	for _, enc := range []string{"", "%", "%4", "%zz", "%41", "%2f", "a/b", "a b", "%20a", "Web.Example", "%FF", "a+b", "%5B%3A%3A1%5D"} {
		if a, err := DecodeEnc(enc); !errors.Is(err, ErrInvalidAsset) || a != "" {
			t.Errorf("%q: %q, %v", enc, a, err)
		}
	}
}

var encPattern = regexp.MustCompile(`^([A-Za-z0-9._-]|%[0-9A-F]{2})+$`)

// checkAssetLaws holds what is true of every input.
func checkAssetLaws(t interface{ Fatalf(string, ...any) }, in string) {
	a, err := ParseAsset(in)
	if err != nil {
		if !errors.Is(err, ErrInvalidAsset) || a != "" {
			t.Fatalf("%q: %q, %v", in, a, err)
		}
		return
	}
	if again, err := ParseAsset(string(a)); err != nil || again != a {
		t.Fatalf("%q becomes %q, which becomes %q, %v", in, a, again, err)
	}
	if enc := a.Enc(); !encPattern.MatchString(enc) || strings.ContainsAny(enc, "{}:/") {
		t.Fatalf("%q is encoded as %q", a, enc)
	}
	if back, err := DecodeEnc(a.Enc()); err != nil || back != a {
		t.Fatalf("%q is encoded as %q, which is decoded as %q, %v", a, a.Enc(), back, err)
	}
	id := TicketID{Asset: a, Task: "w48"}
	if back, err := ParseTicketID(id.String()); err != nil || back != id {
		t.Fatalf("%q is read as %v, %v", id, back, err)
	}
}

var assetGen = rapid.OneOf(
	rapid.String(),
	rapid.StringMatching(`[A-Za-z0-9-]{1,8}(\.[A-Za-z0-9-]{0,5}){0,4}`),
	rapid.StringMatching(`\[?([0-9a-fA-F]{0,4}:){2,7}[0-9a-f]{0,4}(%[ -~]{1,6})?\]?`),
	rapid.StringMatching(`::[fF]{4}:[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(%e)?`),
	rapid.StringMatching(`[{}:/% .\[\]a-zA-Z\x{4e00}-\x{4eff}]{1,20}`),
)

func TestAssetLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkAssetLaws(t, assetGen.Draw(t, "asset")) })
}

func TestEncIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := Asset(assetGen.Draw(t, "a")), Asset(assetGen.Draw(t, "b"))
		if a != b && a.Enc() == b.Enc() {
			t.Fatalf("%q and %q are both encoded as %q", a, b, a.Enc())
		}
	})
}

func FuzzParseAsset(f *testing.F) {
	for _, s := range []string{"web-01", "Web.Example.", "::ffff:1.2.3.4%e", "[::1]", "fe80::1%eth0", "{a}:b/c%d", "机\u2028", " ", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) { checkAssetLaws(t, in) })
}

func FuzzDecodeEnc(f *testing.F) {
	for _, s := range []string{"web-01", "%2F", "%2f", "%", "a%20b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, enc string) {
		if a, err := DecodeEnc(enc); err == nil && a.Enc() != enc {
			t.Fatalf("%q is decoded as %q, which is encoded as %q", enc, a, a.Enc())
		}
	})
}
