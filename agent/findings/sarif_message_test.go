// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"fmt"
	"strings"
	"testing"
)

// TestSARIFMessagesThatAreLookedUp: by their id in the rule or its component, with arguments (SARIF 2.1.0, section 3.11).
func TestSARIFMessagesThatAreLookedUp(t *testing.T) {
	t.Parallel()
	const tool = `{"version":"2.1.0","runs":[{"results":[%s],"tool":{"extensions":[{"name":"e","globalMessageStrings":{"G":{"text":"of e: {0}"}},"rules":[{"id":"E1","messageStrings":{"A":{"text":"rule of e"}}}]}],
		"driver":{"name":"d","globalMessageStrings":{"G":{"text":"global {0}"}},"rules":[{"id":"R1","shortDescription":{"text":"short"},"messageStrings":{"A":{"text":"'{0}' lacks {1}, {{x}} {0} {7}"},"M":{"markdown":"only *markdown*"}}}]}}}]}`
	for message, want := range map[string]string{
		`"ruleId":"R1","message":{"id":"A","arguments":["app","/guard:cf"]}`:                     "R1 | 'app' lacks /guard:cf, {x} app {7}",
		`"ruleId":"R1/sub","message":{"id":"A","arguments":["app","b"]}`:                         "R1/sub | 'app' lacks b, {x} app {7}",
		`"ruleId":"R1","message":{"id":"A"}`:                                                     "R1 | '{0}' lacks {1}, {{x}} {0} {7}",
		`"ruleId":"R1","message":{"id":"M"}`:                                                     "R1 | only *markdown*",
		`"ruleId":"R1","message":{"id":"G","arguments":["a"]}`:                                   "R1 | global a",
		`"ruleId":"none","message":{"id":"G","arguments":["a"]}`:                                 "none | global a",
		`"rule":{"id":"E1","toolComponent":{"name":"e"}},"message":{"id":"G","arguments":["a"]}`: "E1 | of e: a",
		`"ruleId":"E1","message":{"id":"A"}`:                                                     "E1 | rule of e",
		`"ruleId":"R1","message":{"id":"nowhere","arguments":["a","b"]}`:                         "R1 | nowhere a b",
		`"ruleId":"R1","message":{"text":"{0} of {1}","arguments":["a","b"]}`:                    "R1 | a of b",
		`"ruleId":"R1","message":{"text":"as {0} is","id":"A"}`:                                  "R1 | as {0} is",
		`"ruleId":"R1","message":{"text":"{0}{","arguments":["{1}","b"]}`:                        "R1 | {1}{",
		`"ruleId":"R1","message":{"markdown":"*m*"}`:                                             "R1 | *m*",
		`"ruleId":"R1","message":{"text":"depends on [user input](1), see [b](https://h)"}`:      "R1 | depends on user input, see [b](https://h)",
		`"ruleId":"R1","message":{}`:                                                             "R1 | short",
	} {
		got := shown(t, "sarif", fmt.Sprintf(tool, "{"+message+"}"))
		if len(got) != 1 || strings.Replace(strings.TrimSuffix(got[0], " | | |"), " medium", "", 1) != want {
			t.Errorf("%s: got %q, want %s", message, got, want)
		}
	}
	var two []string
	for _, argument := range []string{"a", "b", "a"} {
		two = append(two, `{"ruleId":"CVE-2024-1111","message":{"id":"nowhere","arguments":["`+argument+`"]}}`)
	}
	if got := shown(t, "sarif", fmt.Sprintf(tool, strings.Join(two, ","))); len(got) != 2 {
		t.Errorf("arguments tell results apart: got %q", got)
	}
}

// TestSARIFLevelsAreOverridden by the invocation that a result is of; where it does not say, by the worst.
func TestSARIFLevelsAreOverridden(t *testing.T) {
	t.Parallel()
	const log = `{"version":"2.1.0","runs":[{"invocations":[
		{"executionSuccessful":true,"ruleConfigurationOverrides":[
			{"descriptor":{"id":"R1"},"configuration":{"level":"error"}},{"descriptor":{"index":1},"configuration":{"level":"error"}},
			{"descriptor":{"id":"E1","toolComponent":{"name":"e"}},"configuration":{"level":"error"}},{"descriptor":{"id":"none"},"configuration":{"level":"error"}},
			{"descriptor":{"id":"R4"},"configuration":{"enabled":true}}]},
		{"executionSuccessful":true,"ruleConfigurationOverrides":[{"descriptor":{"id":"R1"},"configuration":{"level":"none"}}]}],
		"results":[{%s,"message":{"text":"m"}}],
		"tool":{"driver":{"name":"d","rules":[{"id":"R1","defaultConfiguration":{"level":"note"}},{"id":"R2","defaultConfiguration":{"level":"note"}},
			{"id":"R3","defaultConfiguration":{"level":"note"}},{"id":"R4","defaultConfiguration":{"level":"note"}}]},
			"extensions":[{"name":"e","rules":[{"id":"E1"}]}]}}]}`
	for result, want := range map[string]string{
		`"ruleId":"R1"`: "high",
		`"ruleId":"R1","provenance":{"invocationIndex":0}`:       "high",
		`"ruleId":"R1","provenance":{"invocationIndex":1}`:       "info",
		`"ruleId":"R1","provenance":{"invocationIndex":-1}`:      "high",
		`"ruleId":"R1","provenance":{"invocationIndex":7}`:       "low",
		`"ruleId":"R1","level":"warning"`:                        "medium",
		`"ruleId":"R2"`:                                          "high",
		`"ruleId":"R3"`:                                          "low",
		`"ruleId":"R4"`:                                          "low",
		`"ruleId":"E1"`:                                          "high",
		`"ruleId":"none"`:                                        "high",
		`"ruleId":"other"`:                                       "medium",
		`"ruleId":"R1","properties":{"security-severity":"5.0"}`: "medium",
	} {
		if f := read(t, "sarif", fmt.Sprintf(log, result)).Findings; len(f) != 1 || f[0].Severity != want {
			t.Errorf("%s: got %+v, want %s", result, f, want)
		}
	}
}

// TestSARIFUnsuccessful: some tools call themselves so whenever they found something. One that found nothing has failed, and so
// has one that tells of an error or ends with a code that was not said to be good.
func TestSARIFUnsuccessful(t *testing.T) {
	t.Parallel()
	const failed = `"toolExecutionNotifications":[{"level":"error","message":{"text":"out of memory"}}]`
	for _, tt := range []struct {
		invocation string
		okExit     []int
		used       bool
	}{
		{`"exitCode":1`, nil, true},
		{`"exitCode":1,"exitSignalName":"BUGS FOUND"`, nil, true},
		{`"exitCode":0`, nil, true},
		{`"exitCode":2`, nil, false},
		{`"exitCode":2`, []int{0, 2}, true},
		{`"exitCode":3`, []int{0, 2}, false},
		{`"exitCode":1,` + failed, nil, false},
		{`"exitCode":1,` + failed, []int{0, 1}, true},
		{`"exitCode":1,"exitSignalNumber":9`, nil, false},
		{`"exitCode":1,"processStartFailureMessage":"no"`, nil, false},
		{`"x":1`, nil, false},
		{`"x":1`, []int{0}, false},
		{`"x":1`, []int{0, 1}, true},
	} {
		for results, n := range map[string]int{`[{"ruleId":"a","message":{"text":"m"}}]`: 1, `[]`: 0, `[{"ruleId":"a","kind":"pass"}]`: 0} {
			for _, in := range []string{
				`"results":` + results + `,"invocations":[{"executionSuccessful":false,` + tt.invocation + `}]`,
				`"invocations":[{"executionSuccessful":true},{` + tt.invocation + `,"executionSuccessful":false}],"results":` + results,
			} {
				report, err := Read(t.Context(), "sarif", strings.NewReader(sarifLog("", in)), tt.okExit)
				if used := err == nil; used != (tt.used && n > 0) || used && len(report.Findings) != n {
					t.Errorf("%s, ok_exit %v: %d findings, error %v", in, tt.okExit, len(report.Findings), err)
				}
			}
		}
	}
}
