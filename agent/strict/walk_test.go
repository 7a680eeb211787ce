// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
)

type common struct {
	Wait strict.Duration `toml:"wait"`
}

type config struct {
	Name  string `toml:"name"`
	Table struct {
		common
		Ports []int    `toml:"ports"`
		Words []string `toml:"words"`
	} `toml:"table"`
	Many []common `toml:"many"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c := config{Name: "kept"}
	lines, problems, _ := strict.Decode([]byte("[table]\nwait = \"2d\"\nports = [1, 2] # two\n[[many]]\nwait = \"1s\"\n[[many]]\n"), &c)
	if problems != nil || c.Name != "kept" || time.Duration(c.Table.Wait) != 48*time.Hour || !slices.Equal(c.Table.Ports, []int{1, 2}) || len(c.Many) != 2 {
		t.Errorf("it is %+v, %v", c, problems)
	}
	if lines["table.wait"] != 2 || lines["table.ports"] != 3 || lines["many[0].wait"] != 5 {
		t.Errorf("the lines are %v", lines)
	}
}

func TestDecodeForgivesNothing(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"nam = \"x\"":                     "f:1: nam: is not known: did you mean name?",
		"\nName = \"x\"":                  "f:2: Name: is not known: did you mean name?",
		"name = 1":                        "f:1: name: must be a string in quotes",
		"table.wait = 5":                  `f:1: table.wait: has no unit: write "5s" for seconds`,
		"table.wait = \"5\"":              `f:1: table.wait: has no unit: write "5s" for seconds`,
		"table.ports = [\"1\"]":           "f:1: table.ports: must be a list of whole numbers, such as [1, 2]",
		"table.words = [1]":               `f:1: table.words: must be a list of strings, such as ["one", "two"]`,
		"[[table]]":                       "f:1: table: stands only once: write [table]",
		"[many]":                          "f:1: many: can stand more than once: write [[many]]",
		"name = \"x\"\nname = \"y\"":      "f:2: name: key name is already defined",
		"a = 1\nname = 2\n":               "f:1: a: is not known: write one of name, table, many\nf:2: name: must be a string in quotes",
		"table = { wait = \"1s\", x = 1}": "f:1: table.x: is not known: write one of wait, ports, words",
	} {
		var c config
		lines, problems, _ := strict.Decode([]byte(doc), &c)
		err := strict.Located("f", lines, problems)
		if !errors.Is(err, strict.ErrConfig) || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", doc, err, want)
		}
	}
	if err := strict.Located("f", nil, nil); err != nil {
		t.Errorf("of no problem: %v", err)
	}
}

// TestDecodeTellsEverythingAtOnce: neither a wrong type nor an error of syntax hides what else is wrong, and what is left is read.
func TestDecodeTellsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"name = 1\n[table]\nwait = 2\nwords = [\"a\",\n \"b\"]\nport = [1]": "f:1: name: must be a string in quotes\n" +
			"f:3: table.wait: has no unit: write \"2s\" for seconds\nf:6: table.port: is not known: did you mean ports?",
		"[table]\nports = [1,\n 2\nwords = [\"a\", \"b\"]\nx = 1": "f:4: table.ports: expected ',' or ']' after array value\n" +
			"f:5: table.x: is not known: write one of wait, ports, words",
		"nam = 1\n[[many]]\nwait = \"1s\"\n[[many]]\nwait = \"2s\n[table\nports = [3]\nwait = true\n[table]\nwords = [\"a\", \"b\"]\n": "f:1: nam: is not known: did you mean name?\n" +
			"f:5: many[1].wait: basic strings cannot have new lines\nf:6: table: expected ']' to close table name",
		"[many]\nwait = 1\n[table]\nwords = [\"a\", \"b\"]": "f:1: many: can stand more than once: write [[many]]",
		"name = \"x\"\nname = \"y\"\n[table]\nwords = [\"a\", \"b\"]\nwait = \"\"": "f:2: name: key name is already defined\n" +
			"f:5: table.wait: is not a duration: write a number with a unit (ms, s, m, h, d), such as \"30s\" or \"1h30m\"",
		"name = \"\"\"x\n[table]\nwords = [\"a\", \"b\"]\ny = 1": "f:4: name: multiline basic string not terminated by \"\"\"\n" +
			"f:4: table.y: is not known: write one of wait, ports, words",
	} {
		c := config{Name: "kept"}
		lines, problems, read := strict.Decode([]byte(doc), &c)
		if err := strict.Located("f", lines, problems); !read || err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", doc, err, want)
		}
		if c.Name != "kept" && c.Name != "x" || !slices.Equal(c.Table.Words, []string{"a", "b"}) {
			t.Errorf("%q: the rest is %+v", doc, c)
		}
	}
}

// TestBesideLeavesOutWhatFollows: a value that could not be read is not missing.
func TestBesideLeavesOutWhatFollows(t *testing.T) {
	t.Parallel()
	first := []strict.Problem{{Key: "step.vuln.command", Message: "must be a list"}, {Key: "claims.max_hold_limit", Message: "has no unit"}, {Key: "channel", Message: "can stand more than once"}, {Key: "host"}, {}}
	follow := []strict.Problem{
		{Key: "step.vuln.command", Message: "is empty"},
		{Key: "step.vuln", Message: "needs command, or file"},
		{Key: "step.vuln.file", Message: "says nothing beside command"},
		{Key: "tickets.keep", Message: "is short: write more than claims.max_hold_limit"},
		{Key: "channel[0].name", Message: "must be plain"},
	}
	more := []strict.Problem{{Key: "step.vuln.parse", Message: "is not known"}, {Key: "step.intel", Message: "needs command"}, {Key: "redis.addrs", Message: "is no host"}, {Message: "whole"}}
	if got, want := strict.Beside(first, slices.Concat(follow, more)), slices.Concat(first, more); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute, "100ms": 100 * time.Millisecond,
		"": 0, "0s": 0, "-1s": 0, "d": 0, "-1d": 0, "1d-1h": 0, "1.5d": 0, "7 d": 0, "0d": 0, "999999d": 0,
	} {
		var d strict.Duration
		if err := d.UnmarshalText([]byte(text)); time.Duration(d) != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, %v", text, d, err)
		}
	}
}
