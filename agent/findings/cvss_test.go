// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"strings"
	"testing"
)

// TestVectorsInEveryForm: data bases have vectors in other forms than the specifications', and each is worth what it says.
func TestVectorsInEveryForm(t *testing.T) {
	t.Parallel()
	for vector, want := range map[string]float64{
		"CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/SC:N/VI:H/SI:N/VA:H/SA:N":     9.3, // in another order
		"CVSS:4.0/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/AV:N/AC:L/AT:N/PR:N/UI:N/E:A": 9.3,
		"CVSS:3.1/S:U/C:H/I:H/A:H/AV:N/AC:L/PR:N/UI:N":                        9.8,
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/":                       9.8, // signs left over
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H:":                       9.8,
		"CVSS:3.1//AV:N/AC:L//PR:N/UI:N/S:U/C:H/I:H/A:H ":                     9.8,
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/AV:N":                   9.8,
		"AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                                 9.8, // without a prefix
		"3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                             9.8,
		"cvss:3.1/av:n/ac:l/pr:n/ui:n/s:u/c:h/i:h/a:h":                        9.8, // in small letters
		"av:n/ac:l/au:n/c:c/i:c/a:c":                                          10,
		"CVSS:2.0/AV:N/AC:L/Au:N/C:C/I:C/A:C":                                 10, // with a prefix that version 2 has not
		"CVSS:AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                            9.8,
		"CVSSv3:AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                          9.8,
		"CVSS:3.1:AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                        9.8,
		"CVSS2#AV:N/AC:L/Au:N/C:C/I:C/A:C":                                    10,
		"CVSS:3.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N":     9.3, // with another version's
		"CVSS:4.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                        9.8,
		"9.8": 9.8, // a score in its place
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/AV:L": 0, // which of the two?
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H":          0,
		"CVSS:3.1/AV:X/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":      0,
	} {
		var s scores
		s.add("", 0, vector)
		if s.best() != want || (s.unread != "") != (want == 0) {
			t.Errorf("%s: got %v, unread %q, want %v", vector, s.best(), s.unread, want)
		}
	}
	var both scores
	both.add("2", 0, "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H") // named version 2, and is not
	both.add("3.1", 0, "AV:N/AC:L/Au:N/C:C/I:C/A:C")
	if both.newer != 9.8 || both.v2 != 10 {
		t.Errorf("the metrics tell the version: got %+v", both)
	}
}

// TestVectorThatCannotBeReadIsTold, in every format that has vectors; it is nothing to tell where there is a score.
func TestVectorThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	const bad = "CVSS:3.1/AV:N/AC:L"
	for format, in := range map[string]string{
		"nuclei":   `{"template-id":"a","info":{"classification":{"cvss-metrics":"VECTOR","cvss-score":SCORE}}}`,
		"trivy":    `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[{"VulnerabilityID":"a","CVSS":{"nvd":{"V3Vector":"VECTOR","V3Score":SCORE}}}]}]}`,
		"grype":    `{"matches":[{"vulnerability":{"id":"a","cvss":[{"version":"3.1","vector":"VECTOR","metrics":{"baseScore":SCORE}}]}}]}`,
		"osv":      `{"results":[{"source":{},"packages":[{"vulnerabilities":[{"id":"a","severity":[{"type":"CVSS_V3","score":"VECTOR"}]}],"groups":[{"ids":["a"],"max_severity":"SCORE"}]}]}]}`,
		"sarif":    sarifLog(`{"id":"a","properties":{"security-severity":"VECTOR","cvssv3_baseScore":SCORE}}`, `"results":[{"ruleId":"a","message":{"text":"m"}}]`),
		"findings": `{"findings":[{"id":"a","vector":"VECTOR","cvss":SCORE}]}`,
		"nmap": nmapScripts(`<script id="s"><table key="a"><elem key="title">t</elem><elem key="state">VULNERABLE</elem><table key="scores">` +
			`<elem key="CVSSv3">SCORE (HIGH) (VECTOR)</elem></table></table></script>`),
	} {
		in = strings.ReplaceAll(in, "VECTOR", bad)
		if f := read(t, format, strings.ReplaceAll(in, "SCORE", "0")).Findings; len(f) != 1 || f[0].Vector != bad || f[0].CVSS != 0 {
			t.Errorf("%s: got %+v", format, f)
		}
		if f := read(t, format, strings.ReplaceAll(in, "SCORE", "7.5")).Findings; len(f) != 1 || f[0].Vector != "" || f[0].CVSS != 7.5 {
			t.Errorf("%s with a score: got %+v", format, f)
		}
	}
}
