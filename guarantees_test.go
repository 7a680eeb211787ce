// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package picket_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	namedTest  = regexp.MustCompile("`(Test\\w+)`")
	namedFile  = regexp.MustCompile("`([a-z][a-z0-9_/-]+/[a-z0-9_]+\\.[a-z.]+)`")
	numbered   = regexp.MustCompile(`\b[GF]\d{1,2}\b`)
	rowsNumber = regexp.MustCompile(`^\| ([GF]\d+) \|`)
)

// TestGuaranteesAreOnTheirPage: each test that docs/guarantees.md names exists, each row names one that carries its number, and each
// number that code or a page gives has its row.
func TestGuaranteesAreOnTheirPage(t *testing.T) {
	t.Parallel()
	tests, used := testNames(t), map[string]string{}
	for _, p := range files(t) {
		if p == "docs/guarantees.md" || p == "CHANGELOG.md" || path.Ext(p) != ".go" && path.Ext(p) != ".lua" && path.Ext(p) != ".md" {
			continue
		}
		for _, number := range numbersIn(string(read(t, p))) {
			used[number] = p
		}
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(read(t, "docs/guarantees.md"))) {
		row := rowsNumber.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		rows[row[1]] = true
		holds := false
		for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
			if !tests[m[1]] {
				t.Errorf("docs/guarantees.md: %s: there is no test %s", row[1], m[1])
			}
			holds = holds || slices.Contains(numbersIn(m[1]), row[1])
		}
		if !holds {
			t.Errorf("docs/guarantees.md: %s has no test that carries its number", row[1])
		}
	}
	for number, p := range used {
		if !rows[number] {
			t.Errorf("%s names %s, which docs/guarantees.md does not have", p, number)
		}
	}
}

// numbersIn are the numbers of guarantees and failures in a text, also those in names like TestG7_G8_X.
func numbersIn(text string) []string {
	return numbered.FindAllString(strings.NewReplacer("_", " ", "TestG", " G", "TestF", " F").Replace(text), -1)
}

// testNames are the names of all tests.
func testNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, p := range files(t) {
		if strings.HasSuffix(p, "_test.go") {
			for _, m := range testName.FindAllStringSubmatch(string(read(t, p)), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}

// TestSetUpsOfRedisNameTheirTests: each cell of the table of set-ups has a test, and each test that docs/redis.md names exists.
func TestSetUpsOfRedisNameTheirTests(t *testing.T) {
	t.Parallel()
	page, tests := string(read(t, "docs/redis.md")), testNames(t)
	for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
		if !tests[m[1]] {
			t.Errorf("docs/redis.md names the test %s, which there is not", m[1])
		}
	}
	_, table, _ := strings.Cut(page, "| set-up |")
	table, _, found := strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if !found || len(rows) < 5 {
		t.Fatal("docs/redis.md has no table of set-ups")
	}
	for _, row := range rows[2:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		for _, cell := range cells[1:] {
			if !namedTest.MatchString(cell) {
				t.Errorf("docs/redis.md: no test holds%s(%s)", cell, strings.TrimSpace(cells[0]))
			}
		}
	}
}

// TestPagesForHackersNameWhatThereIs: files, and the tests that complain; and they are short.
func TestPagesForHackersNameWhatThereIs(t *testing.T) {
	t.Parallel()
	tests, all := testNames(t), files(t)
	for _, p := range all {
		if path.Dir(p) != "docs/hacking" {
			continue
		}
		page := string(read(t, p))
		if n := strings.Count(page, "\n"); n > 30 {
			t.Errorf("%s has %d lines, more than 30", p, n)
		}
		for _, m := range namedFile.FindAllStringSubmatch(page, -1) {
			if !slices.Contains(all, m[1]) {
				t.Errorf("%s names %s, which there is not", p, m[1])
			}
		}
		complain := 0
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
				complain++
				if !tests[m[1]] {
					t.Errorf("%s names the test %s, which there is not", p, m[1])
				}
			}
		}
		if complain == 0 {
			t.Errorf("%s names no test that complains", p)
		}
	}
}

// TestDocsNameFilesThatThereAre: a doc.go names files of its own folder, or by their path.
func TestDocsNameFilesThatThereAre(t *testing.T) {
	t.Parallel()
	all, named := files(t), regexp.MustCompile(`[a-z0-9_/]+\.(?:go|lua)\b`)
	for _, p := range all {
		if path.Base(p) != "doc.go" {
			continue
		}
		for _, name := range named.FindAllString(string(read(t, p)), -1) {
			if !slices.Contains(all, name) && !slices.Contains(all, path.Join(path.Dir(p), name)) {
				t.Errorf("%s names %s, which there is not", p, name)
			}
		}
	}
}
