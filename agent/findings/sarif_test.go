// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// sarifLog is a log with one run, of which the driver's rules and other members are given.
func sarifLog(rules, members string) string {
	return `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x","rules":[` + rules + `]}},` + members + `}]}`
}

// TestSARIFResultsAreToldApart: a CVE in two packages of an image has one location, and the message alone names the package.
func TestSARIFResultsAreToldApart(t *testing.T) {
	t.Parallel()
	const at = `"locations":[{"physicalLocation":{"artifactLocation":{"uri":"image"},"region":{"startLine":1,"startColumn":1}}}]`
	result := func(message string) string {
		return `{"ruleId":"CVE-2023-4911","message":{"text":"` + message + `"},` + at + `}`
	}
	long := strings.Repeat("x", 300)
	in := sarifLog(`{"id":"CVE-2023-4911","shortDescription":{"text":"glibc: overflow"}}`, `"results":[`+strings.Join([]string{
		result(`Package: libc6\nInstalled Version: 2.36\nVulnerability CVE-2023-4911\nSeverity: HIGH`),
		result(`Package: libc-bin\nInstalled Version: 2.36\nVulnerability CVE-2023-4911\nSeverity: HIGH`),
		result(`Package: libc-bin\nInstalled Version: 2.36\nVulnerability CVE-2023-4911\nSeverity: HIGH`),
		result(`in package a`), result(`in package b`), result(long + "a"), result(long + "b"),
	}, ",")+`]`)
	want := []string{
		"CVE-2023-4911 medium | glibc: overflow | libc6 2.36 | image:1:1 |",
		"CVE-2023-4911 medium | glibc: overflow | libc-bin 2.36 | image:1:1 |",
		"CVE-2023-4911 medium | glibc: overflow: in package a | | image:1:1 |",
		"CVE-2023-4911 medium | glibc: overflow: in package b | | image:1:1 |",
	}
	got := shown(t, "sarif", in)
	if len(got) != len(want)+2 || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant two more than\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSARIFRuleOfAResult: an index counts only where it leads to a rule of the result's id.
func TestSARIFRuleOfAResult(t *testing.T) {
	t.Parallel()
	const tool = `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"d","guid":"0A","rules":[
			{"id":"a","properties":{"security-severity":"2.0"}},{"id":"same","properties":{"security-severity":"1.0"}},{"id":"b","properties":{"security-severity":"9.1"}},{"id":"same","properties":{"security-severity":"7.5"}}]},
		"extensions":[{"name":"e","guid":"0E","rules":[{"id":"same","properties":{"security-severity":"9.9"}},{"id":"c","properties":{"security-severity":"9.5"}}]}]},"results":[{%s,"message":{"text":"m"}}]}]}`
	for result, want := range map[string]string{
		`"ruleId":"a","ruleIndex":0`:                                             "a low 2",
		`"ruleId":"b","ruleIndex":0`:                                             "b critical 9.1",
		`"ruleId":"b"`:                                                           "b critical 9.1",
		`"ruleId":"b/sub"`:                                                       "b/sub critical 9.1",
		`"ruleId":"b/sub","rule":{"index":0}`:                                    "b/sub critical 9.1",
		`"ruleId":"a/sub","ruleIndex":0`:                                         "a/sub low 2",
		`"ruleIndex":2`:                                                          "b critical 9.1",
		`"ruleId":"same","ruleIndex":3`:                                          "same high 7.5",
		`"ruleId":"unknown","ruleIndex":2`:                                       "unknown medium",
		`"rule":{"id":"same","toolComponent":{"name":"e"}}`:                      "same critical 9.9",
		`"rule":{"id":"same","toolComponent":{"guid":"0e"}}`:                     "same critical 9.9",
		`"rule":{"id":"same","toolComponent":{"index":0}}`:                       "same critical 9.9",
		`"rule":{"id":"same","index":3,"toolComponent":{"name":"d"}}`:            "same high 7.5",
		`"rule":{"id":"c","index":1,"toolComponent":{"name":"e"}}`:               "c critical 9.5",
		`"rule":{"index":1,"toolComponent":{"name":"e"}}`:                        "c critical 9.5",
		`"rule":{"id":"c","index":0,"toolComponent":{"guid":"0E","name":"d"}}`:   "c critical 9.5",
		`"rule":{"id":"c","index":0}`:                                            "c critical 9.5",
		`"rule":{"id":"b","index":0,"toolComponent":{"name":"not there"}}`:       "b critical 9.1",
		`"rule":{"id":"x","index":0,"toolComponent":{"name":"not there"}}`:       "x medium",
		`"ruleId":"a","ruleIndex":0,"properties":{"security-severity":"HIGH"}`:   "a low 2",
		`"ruleId":"x","level":"note","properties":{"security-severity":"HIGH"}`:  "x high",
		`"ruleId":"x","level":"note","properties":{"security-severity":"undef"}`: "x low",
	} {
		if got := shown(t, "sarif", fmt.Sprintf(tool, result)); len(got) != 1 || !strings.HasPrefix(got[0], want+" |") {
			t.Errorf("%s: got %q, want %s", result, got, want)
		}
	}
}

// TestSARIFNamesInTheRule: Snyk's rules have an id of its own, and the CVE in their texts.
func TestSARIFNamesInTheRule(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`"fullDescription":{"text":"(CVE-2020-8203,CVE-2019-10744) lodash@4.17.15"},"properties":{"tags":["security","CWE-400","npm"],"cvssv3_baseScore":7.4,"security-severity":"undefined"}`: "CVE-2020-8203 high 7.4 | S-1,CVE-2019-10744",
		`"shortDescription":{"text":"Hole cve-2020-8203"},"properties":{"security-severity":"9.8","cvssv3_baseScore":1}`:                                                                       "CVE-2020-8203 critical 9.8 | S-1",
		`"help":{"text":"","markdown":"# Overview\nSee CVE-2020-8203, also CVE-2020-8203."}`:                                                                                                   "CVE-2020-8203 medium | S-1",
		`"help":{"text":"CVE-2020-8203"}`:                                                "CVE-2020-8203 medium | S-1",
		`"properties":{"cve":"CVE-2020-8203"}`:                                           "CVE-2020-8203 medium | S-1",
		`"properties":{"cve":["CVE-2020-8203"],"tags":["external/cve/cve-2020-8204",7]}`: "CVE-2020-8203 medium | S-1,CVE-2020-8204",
		// texts that tell of several, or of another than the rule's own
		`"help":{"text":"As CVE-2020-8203 and CVE-2020-8204."}`:                                       "S-1 medium |",
		`"deprecatedIds":["CVE-2021-45046"],"fullDescription":{"text":"The fix of CVE-2021-44228 …"}`: "CVE-2021-45046 medium | S-1",
		`"properties":{"cve":"CVE-2021-45046"},"help":{"text":"The fix of CVE-2021-44228 …"}`:         "CVE-2021-45046 medium | S-1",
	} {
		list, err := Parse("sarif", strings.NewReader(sarifLog(`{"id":"S-1",`+rule+`}`, `"results":[{"ruleId":"S-1","message":{"text":"m"}}]`)))
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d findings, error %v", rule, len(list), err)
		}
		list[0].Title = ""
		if got := strings.ReplaceAll(show(list[0]), "| | | ", ""); got != want {
			t.Errorf("%s:\n got %s\nwant %s", rule, got, want)
		}
	}
	got := shown(t, "sarif", sarifLog("", `"results":[{"ruleId":"S-1","message":{"text":"m"},"properties":{"cve":"CVE-2020-8203"},"locations":[
		{"physicalLocation":{"artifactLocation":{"uri":"package.json"}},"logicalLocations":[{"fullyQualifiedName":"@scope/lodash@4.17.15"}]}]}]`))
	if want := "CVE-2020-8203 medium | m | @scope/lodash 4.17.15 | package.json | S-1"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestSARIFEveryLocationIsAFinding(t *testing.T) {
	t.Parallel()
	location := func(uri string, line int) string {
		return fmt.Sprintf(`{"physicalLocation":{"artifactLocation":{"uri":%q},"region":{"startLine":%d}}}`, uri, line)
	}
	in := `"results":[{"ruleId":"a","message":{"text":"m"},"locations":[` + location("x", 1) + "," + location("x", 2) + "," + location("y", 1) + "," + location("x", 1) + `]}]`
	if got, want := strings.Join(shown(t, "sarif", sarifLog("", in)), "\n"), "a medium | m | | x:1 |\na medium | m | | x:2 |\na medium | m | | y:1 |"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	many := `"results":[` + strings.Repeat(`{"ruleId":"a","locations":[`+strings.Repeat("{},", maxFindings/10)+`{}]},`, 10) + `{"ruleId":"a"}]`
	if _, err := Parse("sarif", strings.NewReader(sarifLog("", many))); !errors.Is(err, errLimit) {
		t.Errorf("more locations than may be: %v", err)
	}
}

// TestSARIFErrorsOfTheTool: a tool that met an error may have looked at little, and then an empty list says nothing.
func TestSARIFErrorsOfTheTool(t *testing.T) {
	t.Parallel()
	const failed = `[{"executionSuccessful":true,"%s":[{"level":"note","message":{"text":"fine"}},{"level":"%s","message":{"text":"cannot read\nthe lockfile"}}]}]`
	for _, kind := range []string{"toolExecutionNotifications", "toolConfigurationNotifications"} {
		for _, results := range []string{`[]`, `[{"ruleId":"a","suppressions":[{"kind":"inSource"}]}]`} {
			for _, in := range []string{
				`"invocations":` + fmt.Sprintf(failed, kind, "error") + `,"results":` + results,
				`"results":` + results + `,"invocations":` + fmt.Sprintf(failed, kind, "error"),
			} {
				list, err := Parse("sarif", strings.NewReader(sarifLog("", in)))
				if err == nil || list != nil || !strings.Contains(err.Error(), "runs[0]: it found nothing, and says that something went wrong: cannot read the lockfile") {
					t.Errorf("%s: %d findings, error %v", in, len(list), err)
				}
			}
		}
		shown(t, "sarif", sarifLog("", `"results":[],"invocations":`+fmt.Sprintf(failed, kind, "warning")))
		if got := shown(t, "sarif", sarifLog("", `"results":[{"ruleId":"a"}],"invocations":`+fmt.Sprintf(failed, kind, "error"))); len(got) != 1 {
			t.Errorf("what was found counts all the same: %q", got)
		}
	}
}

// TestKindThatIsNotKnownIsAFailure: only what a check passed, or did not apply to, is no finding.
func TestKindThatIsNotKnownIsAFailure(t *testing.T) {
	t.Parallel()
	for kind, n := range map[string]int{"fail": 1, "Fail": 1, "failed": 1, "pass": 0, "notApplicable": 0, "informational": 0} {
		if got := shown(t, "sarif", sarifLog("", `"results":[{"ruleId":"a","kind":"`+kind+`"}]`)); len(got) != n {
			t.Errorf("%s: %q", kind, got)
		}
	}
}
