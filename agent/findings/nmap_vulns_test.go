// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// nmapScripts is a scan of one host whose scripts are given.
func nmapScripts(scripts string) string {
	return `<nmaprun scanner="nmap"><host><address addr="192.0.2.7" addrtype="ipv4"/><hostscript>` + scripts +
		`</hostscript></host><runstats><finished exit="success"/><hosts up="1" down="0" total="1"/></runstats></nmaprun>`
}

// shown parses what must be read, and returns a line for each finding.
func shown(t *testing.T, format, in string) []string {
	t.Helper()
	list, err := Parse(format, strings.NewReader(in))
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	var got []string
	for _, f := range list {
		got = append(got, show(f))
	}
	return got
}

// TestNmapReportsAreFoundWhereverTheyStand: scripts nest the report of NSE's vulns library as they like.
func TestNmapReportsAreFoundWhereverTheyStand(t *testing.T) {
	t.Parallel()
	const report = `<elem key="title">DROWN</elem><elem key="state">VULNERABLE</elem><table key="ids"><elem>CVE:CVE-2016-0800</elem></table>`
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"sslv2-drown": {
			`<script id="sslv2-drown" output=""><table key="ciphers"><elem>DES</elem></table><table key="vulns"><table key="CVE-2016-0800">` + report + `</table></table></script>`,
			[]string{"CVE-2016-0800 unknown | DROWN | | 192.0.2.7 | sslv2-drown"},
		},
		"directly in the script": {
			`<script id="early" output="">` + report + `</script>`,
			[]string{"CVE-2016-0800 unknown | DROWN | | 192.0.2.7 | early"},
		},
		"deeper still": {
			`<script id="x" output=""><table key="a"><table key="b"><table key="c"><table key="NMAP-1">` + report + `</table></table></table></table></script>`,
			[]string{"CVE-2016-0800 unknown | DROWN | | 192.0.2.7 | x"},
		},
		"a state that sums up": {
			`<script id="x" output=""><elem key="state">VULNERABLE</elem><table key="CVE-2016-0800">` + report + `</table></script>`,
			[]string{"CVE-2016-0800 unknown | DROWN | | 192.0.2.7 | x"},
		},
		"beside what is not vulnerable": {
			`<script id="x" output=""><table key="vulns"><table key="CVE-2015-0001"><elem key="title">a</elem><elem key="state">NOT VULNERABLE</elem></table>` +
				`<table key="CVE-2015-0002"><elem key="title">b</elem><elem key="state">LIKELY VULNERABLE</elem></table></table></script>`,
			[]string{"CVE-2015-0002 unknown | b | | 192.0.2.7 | x"},
		},
		"only as text": {
			`<script id="smb-vuln-x" output="&#xa;  VULNERABLE:&#xa;  Old hole&#xa;    State: LIKELY VULNERABLE&#xa;    IDs:  CVE:CVE-2012-1182  BID:52973&#xa;    Risk factor: HIGH&#xa;      It is old.&#xa;&#xa;  Other hole&#xa;    State: VULNERABLE (Exploitable)&#xa;    Risk factor: High  CVSSv2: 10.0 (HIGH) (AV:N/AC:L/Au:N/C:C/I:C/A:C)&#xa;  No hole&#xa;    State: NOT VULNERABLE"/>`,
			[]string{"CVE-2012-1182 high | Old hole | | 192.0.2.7 | 52973,smb-vuln-x", "smb-vuln-x critical 10 | Other hole | | 192.0.2.7 |"},
		},
	} {
		if got := shown(t, "nmap", nmapScripts(tt.in)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	deep := strings.Repeat(`<table key="a">`, 100) + report + strings.Repeat("</table>", 100)
	if _, err := Parse("nmap", strings.NewReader(nmapScripts(`<script id="x" output="">`+deep+`</script>`))); !errors.Is(err, errLimit) {
		t.Errorf("a report that is nested too deep must not be lost: %v", err)
	}
}

// TestNmapScores: a script's score counts, and its risk factor where there is none.
func TestNmapScores(t *testing.T) {
	t.Parallel()
	for elems, want := range map[string]string{
		`<elem key="CVSSv2">9.3 (HIGH) (AV:N/AC:M/Au:N/C:C/I:C/A:C)</elem>`: "critical 9.3",
		`<elem key="CVSSv2">5.0 (MEDIUM)</elem>`:                            "medium 5",
		`<elem key="CVSS2">7.5</elem>`:                                      "high 7.5",
		`<elem key="CVSSv2">10.0</elem><elem key="CVSSv3">7.5 (HIGH) (CVSS:3.0/AV:N/AC:H/PR:L/UI:N/S:U/C:H/I:H/A:H)</elem>`: "high 7.5",
		`<elem key="CVSSv3">CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H</elem>`:                                            "critical 9.8",
		`<elem key="CVSSv3">n/a (HIGH) (CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H)</elem>`:                               "critical 9.8",
		`<elem key="other">9.9</elem>`: "low",
		``:                             "low",
	} {
		in := `<script id="s" output="&#xa;  VULNERABLE:&#xa;  Hole&#xa;    State: VULNERABLE&#xa;    Risk factor: Low"><table key="CVE-2020-0001">` +
			`<elem key="title">Hole</elem><elem key="state">VULNERABLE</elem><table key="scores">` + elems + `</table></table></script>`
		if got := shown(t, "nmap", nmapScripts(in)); !slices.Equal(got, []string{"CVE-2020-0001 " + want + " | Hole | | 192.0.2.7 | s"}) {
			t.Errorf("%s: got %q, want %s", elems, got, want)
		}
	}
}
