// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWhatMultipliesIsBounded: a few bytes of input stand for many of memory, or each of many names, rules and groups could be
// compared with every other one. Each of these is read in one pass, or is over a limit.
func TestWhatMultipliesIsBounded(t *testing.T) {
	notRaced(t)
	t.Parallel()
	many := func(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each, n), ",") }
	var names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, `"%06x",`, i)
	}
	list := strings.TrimSuffix(names.String(), ",")
	records := func(groups string) string {
		return `{"results":[{"source":{},"packages":[{"vulnerabilities":[{"id":"a","aliases":[` + list + `]}],"groups":[` + groups + `]}]}]}`
	}
	host := func(script string) string {
		return `<nmaprun scanner="nmap"><host><ports><port protocol="tcp" portid="1"><state state="open"/><script id="s" ` + script +
			`</script></port></ports></host><runstats><finished exit="success"/></runstats></nmaprun>`
	}
	for name, tt := range map[string]struct {
		format, in string
		limit      bool
	}{
		"names":               {"nuclei", `{"template-id":"x","info":{"classification":{"cve-id":[` + list + `]}}}`, false},
		"names of a finding":  {"findings", `{"findings":[{"id":"x","aliases":[` + list + `]}]}`, false},
		"parts of a finding":  {"findings", `{"findings":[{"id":"x","a":[` + many(maxParts, "0,") + `]}]}`, true},
		"locations":           {"sarif", sarifLog("", `"results":[{"ruleId":"a","locations":[`+many(maxParts, "{},")+`]}]`), true},
		"extensions":          {"sarif", `{"version":"2.1.0","runs":[{"tool":{"extensions":[` + many(maxComponents+2, "{},") + `]},"results":[]}]}`, true},
		"a group's ids":       {"osv", records(`{"ids":[` + many(100_000, `"a",`) + `]}`), false},
		"groups of a record":  {"osv", records(many(20, `{"ids":["a"]},`)), true},
		"elements":            {"nmap", host(`>` + strings.Repeat("<elem/>", maxParts)), true},
		"attributes":          {"nmap", host(strings.Repeat(`a="" `, maxParts) + ">"), true},
		"reports of a script": {"nmap", host(`output="` + strings.Repeat("State: VULNERABLE&#10;", maxReports+2) + `">`), true},
	} {
		if _, err := Parse(tt.format, strings.NewReader(tt.in)); errors.Is(err, errLimit) != tt.limit || !tt.limit && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneBudgetForAReport: what is kept until a run ends counts as the findings do, and is given back.
func TestOneBudgetForAReport(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	results := `"results":[` + strings.Repeat(`{"ruleId":"a","message":{"id":"m","arguments":["`+long+`"]}},`, 100) + `{"ruleId":"a","message":{"text":"m"}}]`
	in := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},` + results + `},{"tool":{"driver":{"name":"y"}},` + results + `}]}`
	left := func(bytes int) error {
		into := collector{bytes: maxBytes - bytes}
		return parseSARIF(newSource(strings.NewReader(in)), &into)
	}
	const run = 101*(overhead+130) + 5*overhead // the results of one run, and the findings
	if err := left(run); err != nil {
		t.Errorf("two runs in the room of one: %v", err)
	}
	if err := left(run / 2); !errors.Is(err, errLimit) {
		t.Errorf("in half of that: %v", err)
	}
	target := `{"Target":"a","Vulnerabilities":[` + strings.Repeat(`{"VulnerabilityID":"a","Title":"`+long+`"},`, 10) + `{"VulnerabilityID":"b"}]}`
	into := collector{bytes: maxBytes - 4*(overhead+200)}
	if err := parseTrivy(newSource(strings.NewReader(`{"SchemaVersion":2,"Results":[`+strings.Repeat(target+",", 50)+target+`]}`)), &into); err != nil {
		t.Errorf("targets one after the other: %v", err)
	}
}
