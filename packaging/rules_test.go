// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package packaging_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// source is what the program is made of, but for its tests.
func source(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"audit", "daemon", "engine", "engine/lookout", "engine/store", "notifier", "outbox", "sockapi"} {
		paths, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(paths) == 0 {
			t.Fatal("there is no source in ", dir, err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				all.WriteString(read(t, path))
			}
		}
	}
	return all.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTheRulesAreOverMetricsThatExist, with labels and values that exist.
func TestTheRulesAreOverMetricsThatExist(t *testing.T) {
	t.Parallel()
	rules, code, unit := read(t, "picket.rules.yml"), source(t), read(t, "picket-run.service")
	names := regexp.MustCompile(`picket_[a-z_]+`).FindAllString(rules, -1)
	if len(names) < 9 {
		t.Errorf("the rules name %d metrics", len(names))
	}
	for _, name := range names {
		if !strings.Contains(code, `"`+name+`"`) && !strings.Contains(unit, name) {
			t.Errorf("there is no metric %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\{([a-z]+)=~?"([a-z|]+)"\}`).FindAllStringSubmatch(rules, -1) {
		for _, word := range append(strings.Split(m[2], "|"), m[1]) {
			if !strings.Contains(code, `"`+word+`"`) {
				t.Errorf("there is no label or value %s", word)
			}
		}
	}
}

func TestTheOperationsPageExplainsEveryAlert(t *testing.T) {
	t.Parallel()
	page := read(t, "../docs/operations.md")
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(read(t, "picket.rules.yml"), -1)
	for _, m := range alerts {
		if !strings.Contains(page, "| "+m[1]+" |") {
			t.Errorf("%s is not explained", m[1])
		}
	}
	if rows := regexp.MustCompile(`(?m)^\| Picket\w+ \|`).FindAllString(page, -1); len(rows) != len(alerts) {
		t.Errorf("the page explains %d alerts, the rules have %d", len(rows), len(alerts))
	}
}

// TestEveryBlockOfTheOperationsPageIsRun: the scenario of make test-systemd names each heading with shell below it, and each block
// of those of which it does not run all at once.
func TestEveryBlockOfTheOperationsPageIsRun(t *testing.T) {
	t.Parallel()
	scenario := read(t, "systemd-test/scenario")
	blocks := 0
	for _, section := range strings.Split(read(t, "../docs/operations.md"), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		n := strings.Count(body, "```sh\n")
		blocks += n
		if strings.Contains(scenario, `page "`+heading+"\"\n") || strings.Contains(scenario, "page "+heading+"\n") {
			continue // all of them
		}
		for i := range n {
			if !regexp.MustCompile(fmt.Sprintf(`page "?%s"? %d\n`, heading, i+1)).MatchString(scenario) {
				t.Errorf("block %d under %q is not run", i+1, heading)
			}
		}
	}
	if blocks < 9 {
		t.Errorf("the page has %d blocks", blocks)
	}
}
