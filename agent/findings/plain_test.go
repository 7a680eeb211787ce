// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"slices"
	"strings"
	"testing"
)

// TestPlainLosesNoSeverity: the form is the reader's own, so what it cannot understand of how bad a finding is was a mistake.
func TestPlainLosesNoSeverity(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		`"severity":"Very High"`:        `findings[1].severity: is "very high", should be one of info, unknown, low, medium, high, critical`,
		`"severity":"blocker"`:          `is "blocker"`,
		`"severity":"urgent"`:           `is "urgent"`,
		`"severity":"11"`:               `is "11"`,
		`"severity":-1`:                 `is "-1"`,
		`"cvss":11`:                     `findings[1].cvss: is "11", should be a number from 0 to 10`,
		`"cvss":"11"`:                   `is "11"`,
		`"cvss":-0.1`:                   `is "-0.1"`,
		`"cvss":"NaN"`:                  `is "NaN"`,
		`"cvss":1e400`:                  `is "1e400"`,
		`"cvss":"CVSS:3.1/AV:N/AC:L"`:   `is "CVSS:3.1/AV:N/AC:L"`,
		`"cvss":true`:                   `is "true"`,
		`"cvss":{"score":9}`:            `should be text`,
		`"epss":94`:                     `findings[1].epss: is "94", should be a number from 0 to 1`,
		`"kev":"yes"`:                   `findings[1].kev: is a string`,
		`"cvss_score":9.8`:              `its field "cvss_score" is not known, should be "cvss"`,
		`"cvssScore":9.8`:               `should be "cvss"`,
		`"CVSSv3":9.8`:                  `should be "cvss"`,
		`"base_score":9.8`:              `should be "cvss"`,
		`"score":9.8`:                   `should be "cvss"`,
		`"severty":"high"`:              `should be "severity"`,
		`"sevirity":"high"`:             `should be "severity"`,
		`"serverity":"high"`:            `should be "severity"`,
		`"seveirty":"high"`:             `should be "severity"`,
		`"severity_level":"high"`:       `should be "severity"`,
		`"epss_score":0.9,"severity":0`: `should be "epss"`,
	} {
		list, err := Parse("findings", strings.NewReader(`{"findings":[{"id":"a"},{"id":"b",`+field+`}]}`))
		if err == nil || list != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d findings, error %v, want %s", field, len(list), err, want)
		}
	}
}

func TestPlainTakes(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"severity":"Important"`:                      "a high | | | |",
		`"severity":" HIGH "`:                         "a high | | | |",
		`"severity":"unknown"`:                        "a unknown | | | |",
		`"severity":"Unknown","cvss":"9.8"`:           "a critical 9.8 | | | |",
		`"severity":"","cvss":"","epss":null`:         "a unknown | | | |",
		`"severity":"7.5"`:                            "a high | | | |",
		`"Severity":"low","CVSS":3`:                   "a low 3 | | | |",
		`"description":"x","security":true,"cves":[]`: "a unknown | | | |",
		`"epss_date":"2026-01-01","kev":true,"cvss":0,"epss":1,"epss_percentile":0.9`: "a unknown epss 1 kev | | | |",
	} {
		if got := shown(t, "findings", `{"findings":[{"id":"a",`+fields+`}]}`); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %s", fields, got, want)
		}
	}
}

// TestMaliciousPackagesAreCritical: they have no score, and scanners rate them unknown.
func TestMaliciousPackagesAreCritical(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, in, want string }{
		{"osv", `{"results":[{"source":{"path":"p"},"packages":[{"package":{"name":"evil"},"vulnerabilities":[{"id":"MAL-2025-1234","summary":"Malicious code"}]}]}]}`, "MAL-2025-1234 critical | Malicious code | evil | p |"},
		{"osv", `{"results":[{"source":{"path":"p"},"packages":[{"package":{"name":"evil"},"vulnerabilities":[{"id":"GHSA-x","aliases":["MAL-2025-1"],"database_specific":{"severity":"LOW"}}]}]}]}`, "GHSA-x critical | | evil | p | MAL-2025-1"},
		{"trivy", `{"SchemaVersion":2,"Results":[{"Target":"t","Vulnerabilities":[{"VulnerabilityID":"MAL-2024-1","Severity":"UNKNOWN"}]}]}`, "MAL-2024-1 critical | | | t |"},
		{"grype", `{"matches":[{"vulnerability":{"id":"MAL-2024-1","severity":"Unknown"}}]}`, "MAL-2024-1 critical | | | |"},
		{"findings", `{"findings":[{"id":"MAL-2024-1"},{"id":"MAL-function"}]}`, "MAL-2024-1 critical | | | |\nMAL-function unknown | | | |"},
	} {
		if got := strings.Join(shown(t, tt.format, tt.in), "\n"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

// TestTrivysCustomPoliciesAreToldApart: without metadata all of them have the same id and title.
func TestTrivysCustomPoliciesAreToldApart(t *testing.T) {
	t.Parallel()
	got := shown(t, "trivy", `{"SchemaVersion":2,"Results":[{"Target":"Dockerfile","Misconfigurations":[
		{"ID":"N/A","AVDID":"N/A","Title":"N/A","Namespace":"user.ports","Message":"port 22","Severity":"UNKNOWN","Status":"FAIL"},
		{"ID":"N/A","Title":"N/A","Namespace":"user.ports","Message":"port 23","Severity":"UNKNOWN","Status":"FAIL"},
		{"ID":"N/A","Title":"N/A","Namespace":"user.names","Message":"port 22","Severity":"HIGH","Status":"FAIL"},
		{"ID":"N/A","Title":"N/A","Message":"`+strings.Repeat("x", 300)+`a","Severity":"LOW","Status":"FAIL"},
		{"ID":"N/A","Title":"N/A","Message":"`+strings.Repeat("x", 300)+`b","Severity":"LOW","Status":"FAIL"},
		{"ID":"KSV001","Title":"Can elevate","Message":"container a","Severity":"LOW","Status":"FAIL"},
		{"ID":"KSV001","Title":"Can elevate","Message":"container b","Severity":"LOW","Status":"FAIL"}]}]}`)
	cut := strings.Repeat("x", maxTitle-len("…")) + "…"
	want := []string{
		"user.ports unknown | port 22 | | Dockerfile |", "user.ports unknown | port 23 | | Dockerfile |",
		"user.names high | port 22 | | Dockerfile |", "N/A low | " + cut + " | | Dockerfile |", "N/A low | " + cut + " | | Dockerfile |",
		"KSV001 low | Can elevate: container a | | Dockerfile |", "KSV001 low | Can elevate: container b | | Dockerfile |",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
