// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows are the tables of docs/schema.md by heading: what their first column names, and by whom it is written.
func rows(t *testing.T) map[string]map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, heading := map[string]map[string][]string{}, ""
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			heading = title
			tables[heading] = map[string][]string{}
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if field, ok := strings.CutPrefix(strings.TrimSpace(cells[0]), "`"); ok && heading != "" {
			tables[heading][strings.TrimSuffix(field, "`")] = strings.Split(strings.TrimSpace(cells[len(cells)-1]), ", ")
		}
	}
	return tables
}

// calls finds the arguments of each call of a function in Lua, however it is broken into lines.
func calls(source, name string) (all [][]string) {
	for rest := source; ; {
		i := strings.Index(rest, name+"(")
		if i < 0 {
			return all
		}
		rest = rest[i+len(name)+1:]
		depth, quoted, from := 0, false, 0
		var args []string
	call:
		for j := 0; ; j++ {
			switch c := rest[j]; {
			case c == '\'':
				quoted = !quoted
			case quoted:
			case c == '(' || c == '{':
				depth++
			case depth > 0 && (c == ')' || c == '}'):
				depth--
			case depth == 0 && (c == ',' || c == ')'):
				args = append(args, strings.Join(strings.Fields(rest[from:j]), " "))
				if from = j + 1; c == ')' {
					break call
				}
			}
		}
		all = append(all, args)
	}
}

var (
	literal = regexp.MustCompile(`^'([a-z_.]+)'$`)
	joined  = regexp.MustCompile(`^'([a-z_]+\.)' \.\. (\w+)$`)
	ofField = regexp.MustCompile(`^field\('([a-z_]+)'\)$`)
)

// fieldOf is the row of the schema that an expression in Lua names.
func fieldOf(expression string) (string, bool) {
	if expression == "CHUNK" {
		return expression, true
	}
	if m := literal.FindStringSubmatch(expression); m != nil {
		return m[1], true
	}
	if m := ofField.FindStringSubmatch(expression); m != nil {
		return m[1] + ".CHANNEL", true
	}
	if m := joined.FindStringSubmatch(expression); m != nil {
		of := map[string]string{"STEP": "STEP", "step": "STEP", "name": "CHANNEL", "channel": "CHANNEL", "LIST": "DIGEST", "RUN": "RUN"}[m[2]]
		return m[1] + of, of != ""
	}
	return "", false
}

// written are the fields that a script writes into hashes, by the name of the hash.
func written(t *testing.T, file, source string) map[string][]string {
	t.Helper()
	hashes := map[string][]string{}
	note := func(hash, expression string) {
		field, ok := fieldOf(expression)
		if expression == "field(name)" { // outcome's receipt, called with each
			hashes[hash] = append(hashes[hash], "receipt.CHANNEL", "receipt_before.CHANNEL")
			return
		}
		if !ok {
			t.Errorf("%s writes the field %s, which this test cannot read: name it plainly", file, expression)
		}
		hashes[hash] = append(hashes[hash], field)
	}
	for _, call := range slices.Concat(calls(source, "redis.call"), calls(source, "redis.pcall")) {
		switch command := call[0]; command {
		case "'HSET'":
			if call[1] == "WHERE" { // its fields are tickets
				continue
			}
			for i := 2; i < len(call) && call[i] != "..." && !strings.HasPrefix(call[i], "unpack("); i += 2 { // of what was put, and of what was there before
				note(strings.ToUpper(call[1]), call[i])
			}
		case "'HSETNX'", "'HINCRBY'":
			note(strings.ToUpper(call[1]), call[2])
		}
	}
	for _, call := range calls(source, "put") {
		for i := 0; i < len(call) && call[i] != "..."; i += 2 {
			note("TICKET", call[i])
		}
	}
	return hashes
}

// TestSchemaIsWhatTheScriptsWrite: each field that a script writes is a row of docs/schema.md that names the script, and each row is
// written so.
func TestSchemaIsWhatTheScriptsWrite(t *testing.T) {
	t.Parallel()
	tables := rows(t)
	ticket, grant, sign, marks := tables["The ticket"], tables["The grant"], tables["A daemon"], tables["The marks of a task"]
	data, report := tables["The data of a master"], tables["What is noted of a report"]
	// What stands before scripts writes in their name.
	writers := map[string][]string{
		"common": {"every event", "break", "reopen"}, "end_notifying": {"attempt", "outcome", "resolve"},
	}
	seen := map[string]bool{}
	files, err := lua.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, _ := lua.ReadFile("lua/" + file.Name())
		name := strings.TrimSuffix(file.Name(), ".lua")
		by := writers[name]
		if by == nil {
			by = []string{name}
		}
		for hash, fields := range written(t, name, string(b)) {
			table := map[string]map[string][]string{"TICKET": ticket, "GRANT": grant, "HOST": sign, "MARKS": marks, "STORE": data, "REPORT": report}[hash]
			for _, field := range fields {
				writers, known := table[field]
				if !known {
					t.Errorf("%s writes %s of the %s, which docs/schema.md does not know", name, field, strings.ToLower(hash))
				} else if hash != "HOST" && hash != "STORE" && !slices.ContainsFunc(by, func(w string) bool { return slices.Contains(writers, w) }) {
					t.Errorf("docs/schema.md lacks that %s writes %s of the %s", name, field, strings.ToLower(hash))
				}
				seen[hash+field] = true
			}
		}
	}
	for hash, table := range map[string]map[string][]string{"TICKET": ticket, "GRANT": grant, "HOST": sign, "MARKS": marks, "STORE": data, "REPORT": report} {
		for _, field := range slices.Sorted(maps.Keys(table)) {
			if !seen[hash+field] {
				t.Errorf("docs/schema.md has %s of the %s, which no script writes", field, strings.ToLower(hash))
			}
		}
	}
}

// TestAnEventHasTheFieldsOfTheSchema, in their order.
func TestAnEventHasTheFieldsOfTheSchema(t *testing.T) {
	t.Parallel()
	common, _ := lua.ReadFile("lua/common.lua")
	page, err := os.ReadFile("../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## An event of the log")
	table, _, _ = strings.Cut(table, "\n## ")
	var fields []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)`").FindAllStringSubmatch(table, -1) {
		fields = append(fields, strings.ToUpper(m[1]))
	}
	if line := "-- " + strings.Join(fields, " ") + ", with tabs between"; !strings.Contains(string(common), line) {
		t.Errorf("docs/schema.md says %q, common.lua otherwise", line)
	}
}
