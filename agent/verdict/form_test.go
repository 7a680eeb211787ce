// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"strings"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// TestWhatAProgramWritesIsReadStrictly: what encoding/json passes over would be taken for "nothing found".
func TestWhatAProgramWritesIsReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"findings": [], "error": "no route"}`:                                                             `"error" is not known: it has findings`,
		`{"findings": [{"id": "A"}], "findings": []}`:                                                       `"findings" stands there twice`,
		`{"findings": [{"id": "A", "id": "B"}]}`:                                                            `"id" in findings[] stands there twice`,
		`{"findings": [{"id": "A", "Fixed_in": "2"}]}`:                                                      `"Fixed_in" in findings[] must be written "fixed_in"`,
		`{"findings": [{"id": "A", "CVSS": 9.8}]}`:                                                          `"CVSS" in findings[] must be written "cvss"`,
		`{"findings": [{"id": "A", "x": {"y": 1, "y": 2}}]}`:                                                `"y" in findings[].x stands there twice`,
		`{"findings": [{"id": "A", "x": ` + nested(200) + `}]}`:                                             "it is nested more than 100 deep",
		`{"findings": []} {"findings": [{"id": "CVE-2020-0001"}]}`:                                          "cannot read the output as",
		`{"findings": [` + strings.Repeat(`{"id": "A"},`, 100_000) + `{"id": "A"}], "error": "half of it"}`: `"error" is not known`,
		`{"findings": [{"id": "A"}, ` + strings.Repeat(`{"ID": "A"},`, 100_000) + `3]}`:                     "cannot read the output as",
	} {
		if _, err := ReadFindings(t.Context(), strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	all, err := ReadFindings(t.Context(), strings.NewReader("\ufeff"+`{"findings": [{"id": "A", "url": "x"}]}`))
	if err != nil || len(all.Findings) != 1 {
		t.Errorf("a whole one: %v, %v", all, err)
	}
	for text, want := range map[string]string{
		`{"state": "X", "state": "Y"}`:                           `"state" stands there twice`,
		`{"State": "X"}`:                                         `"State" must be written "state"`,
		`{"state": "X", "facts": {"a": 1, "a": 2}}`:              `"a" in facts stands there twice`,
		`{"state": "X", "facts": {"Findings": []}}`:              `"Findings" in facts must be written "findings"`,
		`{"state": "X", "facts": {"findings": [{"Kev": true}]}}`: `"Kev" in facts.findings[] must be written "kev"`,
		`{"state": "X", "summary": 1}`:                           `"summary" must be text`,
		`{"state": "X", "error": "no route"}`:                    `"error" is not known`,
	} {
		if _, err := ReadOwn(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	own := Record{State: client.StateVulnCheckDone, Facts: []byte(`{"findings": [], "error": "no route"}`)}
	if _, err := OwnVuln(own, nil); err == nil || err.Error() != "its facts tell of an error: no route" {
		t.Errorf("facts with an error: %v", err)
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestPicketsOwnForm(t *testing.T) {
	t.Parallel()
	got, err := ReadOwn(strings.NewReader("\n" + `{"state": "X", "facts": {"n": 1.50}, "summary": "a\nb"}` + "\n"))
	if err != nil || got.State != "X" || string(got.Facts) != `{"n": 1.50}` || got.Summary != "a b" {
		t.Errorf("it is %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                              "it is empty",
		" \n":                           "it is empty",
		"state":                         "it is not {",
		`{"state": "X"`:                 "it is not {",
		`{"state": "X"} {}`:             "something stands behind",
		`{"state": "X"} x`:              "something stands behind",
		`{"facts": {}}`:                 "it has no state",
		`{"state": 1}`:                  "it is not {",
		`{"state": "X", "facts": []}`:   "its facts are not an object",
		`{"Results": [], "state": "X"}`: "it is not {",
		`{"state": "X", "facts": {"a": "` + strings.Repeat("x", MaxFacts) + `"}}`: "it is too large",
	} {
		if _, err := ReadOwn(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// TestACommandMaySayThatItCouldNotTryAll, in its facts, and in no other word than true or false.
func TestACommandMaySayThatItCouldNotTryAll(t *testing.T) {
	t.Parallel()
	for incomplete, want := range map[string]bool{"true": true, "false": false, "null": false} {
		out, err := OwnVuln(Record{State: client.StateVulnCheckDone, Facts: []byte(`{"findings": [], "incomplete": ` + incomplete + `}`)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ticket := client.Ticket{Steps: map[string]client.Step{client.StepVuln: {Facts: out.Facts}}}
		if got := IsIncomplete(ticket); got != want {
			t.Errorf("%s: incomplete is %v in %s", incomplete, got, out.Facts)
		}
	}
	if _, err := OwnVuln(Record{State: client.StateVulnCheckDone, Facts: []byte(`{"findings": [], "incomplete": "some"}`)}, nil); err == nil {
		t.Error("a text is taken")
	}
}
