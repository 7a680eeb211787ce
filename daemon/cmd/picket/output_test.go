// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"web-01":         "web-01",
		"主机 é":           "主机 é",
		"\x1b]0;own\x07": `\x1b]0;own\x07`,
		"a\nb\tc\r":      `a\nb\x09c\x0d`,
		"\u009b31m":      `\u009b31m`,
		"\u202egnp.exe":  `\u202egnp.exe`,
		"\xff\ufffd":     "\\xff\ufffd",
		"\x7f":           `\x7f`,
		"\u2028":         `\u2028`,
	} {
		if got := clean(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestTablePadsByWhatATerminalShows(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table{{"TICKET", "STATE"}, {"主机/w1", "INIT"}, {"a\x1b/w", "FINISHED"}, {"", ""}}.print(&b)
	want := "TICKET   STATE\n主机/w1  INIT\na\\x1b/w  FINISHED\n\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestTableFitsTheTerminal: prose is cut, in columns and notes, and what is copied is not.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	rows := table{{"TICKET", "STATE", "SUMMARY"}, {"web-01.example.com/2026-11-29", "FINISHED", "no high risk: 3 findings"}}
	rows.note("the scanner was told to stop by whoever started it, and did")
	for wide, want := range map[int]string{
		0: "TICKET                         STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29  FINISHED  no high risk: 3 findings\n" +
			"    the scanner was told to stop by whoever started it, and did\n",
		54: "TICKET                         STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29  FINISHED  no high risk…\n" +
			"    the scanner was told to stop by whoever started i…\n",
		20: "TICKET                         STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29  FINISHED  no high r…\n" +
			"    the scanner was…\n",
	} {
		var b strings.Builder
		rows.printWithin(&b, wide, false)
		if b.String() != want {
			t.Errorf("within %d:\n%swant\n%s", wide, b.String(), want)
		}
	}
}

func TestPrintJSONKeepsFactsToTheLetter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	facts := `{"n":12345678901234567,"f":1.0,"e":[],"html":"<&>"}`
	if err := printJSON(&b, map[string]any{"facts": json.RawMessage(facts)}); err != nil {
		t.Fatal(err)
	}
	if want := `{"facts":` + facts + "}\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestFactsOf(t *testing.T) {
	t.Parallel()
	got, err := factsOf(nil, []string{`port:=443`, `name=a=b:=c "q"`, `list:=[1.0]`, `empty=`, `a,b=1,2`})
	want := `{"port":443,"name":"a=b:=c \"q\"","list":[1.0],"empty":"","a,b":"1,2"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
