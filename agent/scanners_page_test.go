// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"
)

// TestPageOfScannersIsRight: its configurations and conditions are taken, it has every format, and its finding is one.
func TestPageOfScannersIsRight(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/scanners.md")
	if err != nil {
		t.Fatal(err)
	}
	page, parsed := string(b), map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		c, err := load(t, block[1])
		if err != nil {
			t.Errorf("%s: %v", block[1], err)
		}
		parsed[c.Step.Vuln.Parse] = true
	}
	for _, format := range findings.Formats() {
		if !parsed[format] {
			t.Errorf("it shows no configuration for %s", format)
		}
	}
	conditions := regexp.MustCompile("(?m)^\\|[^|`]+\\| `([^`]+)`(?: \\(the default\\))? \\|$").FindAllStringSubmatch(page, -1)
	if len(conditions) < 10 {
		t.Errorf("it has %d conditions", len(conditions))
	}
	for _, c := range conditions {
		condition, err := verdict.NewCondition(strings.ReplaceAll(c[1], `\|`, "|"), true)
		if err != nil {
			t.Errorf("%s: %v", c[1], err)
		} else if wrong := condition.Try(verdict.MadeUpHosts()); wrong != "" {
			t.Errorf("%s %s", c[1], wrong)
		}
	}
	one := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(page)[1]
	if _, err := verdict.ReadFindings(t.Context(), strings.NewReader(`{"findings": [`+one+`]}`)); err != nil {
		t.Error(err)
	}
}
