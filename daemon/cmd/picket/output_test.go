// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
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

// TestTableFitsTheTerminal: prose is cut, as notes are after three lines, one long name stands on its own line, and cells without room go on below.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	rows := table{{"TICKET", "STATE", "SUMMARY"}, {"web-01.example.com/2026-11-29", "FINISHED", "no high risk: 3 findings"}, {"db/w", "INIT", ""}}
	rows.note("the scanner was told to stop by whoever started it, and did")
	for wide, want := range map[int]string{
		0: "TICKET                         STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29  FINISHED  no high risk: 3 findings\n" +
			"db/w                           INIT\n" +
			"    the scanner was told to stop by whoever started it, and did\n",
		54: "TICKET                         STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29  FINISHED  no high risk…\n" +
			"db/w                           INIT\n" +
			"    the scanner was told to stop by whoever started\n    it, and did\n",
		40: "TICKET  STATE     SUMMARY\n" +
			"web-01.example.com/2026-11-29\n" +
			"        FINISHED  no high risk: 3 findi…\n" +
			"db/w    INIT\n" +
			"    the scanner was told to stop by\n    whoever started it, and did\n",
		20: "TICKET\n    STATE\n    SUMMARY\n" +
			"web-01.example.com/2026-11-29\n    FINISHED\n    no high risk: 3…\n" +
			"db/w\n    INIT\n" +
			"    the scanner was\n    told to stop by\n    whoever started…\n",
	} {
		var b strings.Builder
		rows.printWithin(&b, wide, false)
		if b.String() != want {
			t.Errorf("within %d:\n%swant\n%s", wide, b.String(), want)
		}
	}
}

// TestTableShowsWhatIsWrongWhole: advice goes on below, and a word that is copied stays whole.
func TestTableShowsWhatIsWrongWhole(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table{{"CHECK", "FOUND", "FOUND"}, {"dead", "", "picket outbox ls --status dead says why"}, {"", "", "/var/lib/picket/a-long-name/outbox.db"}}.printWithin(&b, 40, false)
	want := "CHECK  FOUND  FOUND\n" +
		"dead          picket outbox ls --status\n" +
		"              dead says why\n" +
		"              /var/lib/picket/a-long-name/outbox.db\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	table{{"TICKET", "web-01/w48"}, {"failure", "vuln: the scanner ended with 3 (4 times)"}}.printWithin(&b, 30, false)
	if want := "TICKET   web-01/w48\nfailure  vuln: the scanner\n         ended with 3 (4\n         times)\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
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

// TestLastWordIsWhyATicketFailed: what the assessment found does not stand where people look for what refused.
func TestLastWordIsWhyATicketFailed(t *testing.T) {
	t.Parallel()
	failure := &client.Failure{Step: "vuln", Error: "the scanner broke"}
	dead := map[string]client.Delivery{"ops": {Status: client.DeliveryDead, Error: "HTTP 400"}}
	for want, ticket := range map[string]client.Ticket{
		"high risk: kev":          {State: client.StateFinished, Summary: "high risk: kev"},
		"vuln: the scanner broke": {State: client.StateAssetOnline, Summary: "port 22 is open", Failure: failure},
		"people were not told (ops: dead: HTTP 400)": {
			State: client.StateFailed, Summary: "high risk: kev", Notification: &client.Notification{}, Delivery: dead,
		},
	} {
		if got := verdict.LastWord(ticket); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
