// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestConditionsAreTriedOnMadeUpHosts: one that never or always holds, or fails, is told before a night goes by.
func TestConditionsAreTriedOnMadeUpHosts(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		"max_cvss >= 9 || kev || epss >= 0.5":                                   "",
		"critical > 0 && count > 100":                                           "",
		"unknown > 0":                                                           "",
		"any(findings, .severity == \"critical\" && .kev)":                      "",
		"count(findings, .cvss >= 9) >= 5":                                      "",
		"asset == \"db-01\" && max_cvss > 10":                                   "", // nobody can tell
		"any(findings, .title contains \"Log4j\")":                              "",
		"len(findings) > 0 && findings[0].cvss > 9":                             "",
		"any(findings, .severity == \"CRITICAL\")":                              "never holds, not even of a host with the worst of all: severities are written small",
		"any(findings, .severity == \"critical\" and .fixed_in != \"\")":        "",
		"any(findings, .severity == \"critical\" and .fixed_in == \"\")":        "",
		"kev or epss >= 50":                                                     "has a part, epss >= 50, that never holds",
		"kev || asset == \"db-01\" || any(findings, .severity == \"CRITICAL\")": "has a part, any(findings, .severity == \"CRITICAL\"), that never holds",
		"epss >= 50":                     "never holds",
		"max_cvss > 10":                  "never holds",
		"kev && false":                   "never holds",
		"1/0 > 1":                        "always holds, even of a host of which nothing was found",
		"max_cvss >= 0":                  "always holds",
		"findings[0].cvss >= 9":          "fails on a host of which nothing was found: index out of range",
		"max(map(findings, .cvss)) >= 9": "fails on a host of which nothing was found",
	} {
		c, err := load(t, fmt.Sprintf("[step.vuln]\ncommand = [\"true\"]\n[step.assess]\nhigh_risk = %q\n", condition))
		if err != nil {
			t.Fatal(err)
		}
		err = c.Check(quiet)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrConfig) || !strings.HasPrefix(err.Error(), "step.assess.high_risk: "+want)) {
			t.Errorf("%s: %v, want %s", condition, err, want)
		}
	}
	c, err := load(t, "[step.vuln]\ncommand = [\"true\"]\n[step.intel]\ncommand = [\"true\"]\nwhen = \"max_cvss > 70\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(quiet); err == nil || !strings.HasPrefix(err.Error(), "step.intel.when: never holds") {
		t.Errorf("of when it says %v", err)
	}
}
