// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import "testing"

// TestFixAndLink: what mends a finding, and where more is said of it, from every format that tells.
func TestFixAndLink(t *testing.T) {
	t.Parallel()
	const advisory = "https://example.com/advisory?a=1"
	for _, tt := range []struct{ format, in, fixed, url string }{
		{"nuclei", `{"template-id":"a","info":{"reference":["none","` + advisory + `","https://example.com/2"]},"template-url":"https://example.com/t"}`, "", advisory},
		{"nuclei", `{"template-id":"a","info":{"reference":null},"template-url":"https://example.com/t"}`, "", "https://example.com/t"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[{"VulnerabilityID":"a","FixedVersion":"1.2, 2.0","PrimaryURL":"` + advisory + `"}]}]}`, "1.2, 2.0", advisory},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[{"VulnerabilityID":"a","References":["` + advisory + `"]}]}]}`, "", advisory},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"a","Misconfigurations":[{"ID":"a","PrimaryURL":"` + advisory + `"}]}]}`, "", advisory},
		{"grype", `{"matches":[{"vulnerability":{"id":"GHSA-1","fix":{"versions":["1.2","1.2","2.0"],"state":"fixed"},"dataSource":"` + advisory + `"},"relatedVulnerabilities":[{"id":"CVE-2020-0001","dataSource":"https://example.com/2"}]}]}`, "1.2, 2.0", advisory},
		{"grype", `{"matches":[{"vulnerability":{"id":"a","fix":{"versions":[],"state":"not-fixed"},"dataSource":"","urls":["` + advisory + `"]}}]}`, "", advisory},
		{"osv", `{"results":[{"source":{},"packages":[{"package":{"name":"p","version":"1"},"vulnerabilities":[{"id":"a","references":[{"type":"WEB","url":"https://example.com/2"},{"type":"ADVISORY","url":"` + advisory + `"}],
			"affected":[{"package":{"name":"other"},"ranges":[{"type":"SEMVER","events":[{"fixed":"9"}]}]},
				{"package":{"name":"p"},"ranges":[{"type":"GIT","events":[{"fixed":"abcdef"}]},{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.2"}]},{"type":"ECOSYSTEM","events":[{"introduced":"2"},{"fixed":"2.1"},{"fixed":"1.2"}]}]}]}]}]}]}`, "1.2, 2.1", advisory},
		{"osv", `{"results":[{"source":{},"packages":[{"vulnerabilities":[{"id":"GHSA-1/2"}]}]}]}`, "", "https://osv.dev/vulnerability/GHSA-1%2F2"},
		{"sarif", sarifLog(`{"id":"a","helpUri":"`+advisory+`"}`, `"results":[{"ruleId":"a","message":{"text":"Package: p\nInstalled Version: 1\nVulnerability a\nFixed Version: 1.2, 2.0\nLink: x"}}]`), "1.2, 2.0", advisory},
		{"sarif", sarifLog(`{"id":"a"}`, `"results":[{"ruleId":"a","message":{"text":"Package: p\nInstalled Version: 1\nFixed Version: \nLink: x"}}]`), "", ""},
		{"nmap", nmapScripts(`<script id="s" output="&#xa;  VULNERABLE:&#xa;  Hole&#xa;    State: VULNERABLE&#xa;    References:&#xa;      ` + advisory + `"/>`), "", advisory},
		{"nmap", nmapScripts(`<script id="s"><table key="a"><elem key="title">t</elem><elem key="state">VULNERABLE</elem><table key="refs"><elem>` + advisory + `</elem></table></table></script>`), "", advisory},
		{"nmap", nmapScripts(`<script id="vulners"><table key="cpe:/a:x:y:1"><table><elem key="id">CVE-2020-0001</elem><elem key="type">cve</elem></table></table></script>`), "", "https://vulners.com/cve/CVE-2020-0001"},
		{"findings", `{"findings":[{"id":"a","fixed_in":"1.2","url":"` + advisory + `"}]}`, "1.2", advisory},
		{"findings", `{"findings":[{"id":"a","url":"javascript:alert(1)"}]}`, "", ""},
		{"findings", `{"findings":[{"id":"a"},{"id":"a","fixed_in":"1.2","url":"` + advisory + `"},{"id":"a","fixed_in":"3","url":"https://example.com/2"}]}`, "1.2", advisory},
	} {
		list := read(t, tt.format, tt.in).Findings
		if len(list) != 1 || list[0].FixedIn != tt.fixed || list[0].URL != tt.url {
			t.Errorf("%s: got %+v, want fixed in %q, link %q", tt.in, list, tt.fixed, tt.url)
		}
	}
	for _, none := range []string{"", "javascript:alert(1)", "file:///etc/passwd", "//example.com", "https://", "https://u:p@example.com/", "https://example.com/ x", "https://example.com/\u202e", "see https://example.com"} {
		if got := link(none); got != "" {
			t.Errorf("%q is no link, got %q", none, got)
		}
	}
}
