// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"strings"
	"testing"
)

// TestNmapControlCharactersBlindNothing: whoever runs a service on the asset chooses what it answers, and nmap writes that as
// references to characters, of which XML has not all.
func TestNmapControlCharactersBlindNothing(t *testing.T) {
	t.Parallel()
	const report = `<nmaprun scanner="nmap"><host><address addr="192.0.2.7" addrtype="ipv4"/><ports>` +
		`<port protocol="tcp" portid="445"><state state="open"/><service name="smb" product="aXb"/><script id="banner" output="cXd"><elem key="X">eXf</elem></script></port>` +
		`<port protocol="tcp" portid="80"><state state="open"/><script id="vulners" output="cpe:&#xa;&#x9;CVE-2024-0001&#x9;9.8&#x9;https://vulners.com/cve/CVE-2024-0001"/></port>` +
		`</ports></host><runstats><finished exit="success"/></runstats></nmaprun>`
	for in, want := range map[string]string{
		"": "ab", "&#x1;": "a\uFFFDb", "&#1;": "a\uFFFDb", "&#x1b;": "a\uFFFDb", "&#0;": "a\uFFFDb", "&#x0000001B;": "a\uFFFDb",
		"&#xfffe;": "a\uFFFDb", "&#xd800;": "a\uFFFDb", "&#x110000;": "a\uFFFDb", "&#4294967297;": "a\uFFFDb",
		"\x01": "a\uFFFDb", "\x1b[1m": "a\uFFFD[1mb", "\ufffe": "a\uFFFDb", "\uffff": "a\uFFFDb",
		"&#x41;": "aAb", "&#xe9;": "aéb", "&#128512;": "a😀b", "&amp;#1;": "a&#1;b", "é": "aéb", "\uffee": "a\uffeeb",
	} {
		list := read(t, "nmap", strings.ReplaceAll(report, "X", in)).Findings
		if len(list) != 3 || list[0].Package != want || list[2].ID != "CVE-2024-0001" || list[2].CVSS != 9.8 {
			t.Errorf("%q: got %+v, want the package %q and two more", in, list, want)
		}
	}
	for _, in := range []string{"&#;", "&#x;", "&#xzz;", "&#1", "&x1;", "&", "<", "]]>&#1"} {
		if list, err := Parse("nmap", strings.NewReader(strings.ReplaceAll(report, "X", in))); err == nil {
			t.Errorf("%q is damage, got %d findings", in, len(list))
		}
	}
	whole := strings.ReplaceAll(report, "X", "&#x1;")
	for i := 1; i < len(whole); i++ {
		if list, err := Parse("nmap", strings.NewReader(whole[:i])); err == nil {
			t.Fatalf("cut at %d: %d findings and no error", i, len(list))
		}
	}
}
