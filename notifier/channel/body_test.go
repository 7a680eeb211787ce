// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var message = Message{
	Key: "web-01/w48", Ticket: "web-01/w48", Asset: "web-01", Task: "w48", Run: 1, Title: "Üble <Lücke> & mehr",
	Text: "Zeile 1\nZeile 2", Severity: "critical", At: time.Date(2026, 11, 29, 9, 0, 0, 0, time.FixedZone("CET", 3600)),
}

func TestBodyIsAsDocumented(t *testing.T) {
	t.Parallel()
	const head = `{"type":"picket.notification","timestamp":"2026-11-29T08:00:00Z","data":{"id":"web-01/w48","asset":"web-01",` +
		`"task":"w48","run":1,"title":"Üble <Lücke> & mehr","text":"Zeile 1\nZeile 2","severity":"critical","facts":`
	for _, facts := range []string{
		"",
		"{}",
		`{"b":1.0,"a":[],"n":12345678901234567,"e":1E400,"h":"<a href=\"x\">&</a>","u":"\u2028` + "\u2028" + `","b":2}`,
		" {\n\t\"spaced\" :  true }\n",
	} {
		m := message
		m.Facts = json.RawMessage(facts)
		body, err := renderJSON(m)
		if facts == "" {
			facts = "{}"
		}
		if want := head + facts + "}}"; err != nil || string(body) != want {
			t.Errorf("%v\n got %s\nwant %s", err, body, want)
		}
	}
	for _, facts := range []string{"[]", "null", "1", `{"a":1`, "{} {}", " "} {
		m := message
		m.Facts = json.RawMessage(facts)
		if body, err := renderJSON(m); err == nil {
			t.Errorf("facts %q made %s", facts, body)
		}
	}
}

// Whatever the fields hold, the body is JSON, says what was put in, and has the facts to the letter.
func TestBodyHoldsAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, err := json.MarshalIndent(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "facts"), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		m := Message{
			Ticket: rapid.String().Draw(t, "ticket"), Title: rapid.String().Draw(t, "title"), Text: rapid.String().Draw(t, "text"),
			Facts: facts,
		}
		body, err := renderJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		var p payload
		if err := json.Unmarshal(body, &p); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if p.Data.ID != m.Ticket || p.Data.Title != m.Title || p.Data.Text != m.Text || !bytes.Contains(body, facts) {
			t.Fatalf("%+v became %s", m, body)
		}
	})
}
