// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// functions are those that templates call.
var functions = template.FuncMap{
	"clock": clock, "cut": cut, "text": func(s string) string { return plain.Cut(s, longText) }, "count": count,
	"tone": tone, "word": word, "number": number, "token": shortToken,
	"ticket": ticketLink, "link": link, "facts": facts, "why": lastWord, "bar": newBar, "millis": millis, "megabytes": megabytes,
	"yes": func(b *bool) bool { return b != nil && *b },
}

// How much of a text is shown in a row, and where it stands alone, in bytes.
const (
	shortText = 300
	longText  = 64 << 10
)

func cut(s string) string { return plain.Cut(s, shortText) }

// clock is the time of day, to milliseconds, of a history; its date is in the title.
func clock(at time.Time) template.HTML {
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.Format(time.RFC3339Nano), at.Format(verdict.TimeForm), at.Format("15:04:05.000")))
}

// count is a number with the word that goes with it. n is an int or an int64.
func count(n any, one, more string) string {
	digits := number(n)
	return digits + " " + map[bool]string{true: one, false: more}[digits == "1"]
}

func millis(ms int64) string { return about(time.Duration(ms) * time.Millisecond) }

func megabytes(n int64) string { return number((n+1<<20-1)>>20) + " MiB" }

// number is n with spaces between thousands. n is an int or an int64.
func number(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}

// shortToken is the end of a token, by which people tell those of one asset apart; the beginning is a time that they share.
func shortToken(token int64) string {
	s := strconv.FormatInt(token, 10)
	return "…" + s[max(0, len(s)-6):]
}

// tones are the colours of words: good, bad, odd, busy; all others have none.
var tones = map[string]string{
	client.StateFinished: "good", client.StateNotified: "good", client.DeliverySent: "good", client.StateAssetOnline: "busy",
	client.StateFailed: "bad", client.DeliveryDead: "bad", client.StatusLost: "bad", client.StateHighRiskFound: "bad",
	client.DeliveryUnknown: "odd", client.DeliveryParked: "odd", client.StateNotifying: "odd", client.DeliveryPending: "busy",
	client.DeliverySending: "busy", client.StateVulnCheckDone: "busy", client.StateInit: "busy", client.StatusHeld: "busy",
	client.SeverityCritical: "bad", client.SeverityHigh: "odd",
}

func tone(s string) string { return tones[s] }

// word is a state or a severity as people say it: High risk found.
func word(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "_", " ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// link is an address of these pages with a query: names and values in turn. What is empty is left out.
func link(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func ticketLink(asset, task string) string { return link("/ticket", "asset", asset, "task", task) }

func lastWord(t client.Ticket) string { return cut(verdict.LastWord(t)) }

// facts are those of a step as indented JSON; nothing where there are none.
func facts(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil || b.String() == "{}" {
		return ""
	}
	return plain.Cut(b.String(), longText)
}

// bar is how far a task is, as parts of a line that is 1,000 wide.
type bar struct {
	Parts []barPart
	Says  string
}

type barPart struct {
	Tone, Name string
	X, Wide    float64
	N          int64
}

func newBar(t client.Task) bar {
	finished, failed := t.States[client.StateFinished], t.States[client.StateFailed]
	telling := t.States[client.StateNotifying] + t.States[client.StateNotified]
	parts := []barPart{
		{Name: "finished", Tone: "good", N: finished},
		{Name: "failed", Tone: "bad", N: failed},
		{Name: "telling people", Tone: "odd", N: telling},
		{Name: "begun", Tone: "busy", N: t.Total - t.Waiting() - finished - failed - telling},
		{Name: "waiting", Tone: "idle", N: t.Waiting()},
	}
	var b bar
	var said []string
	x := 0.0
	for _, p := range parts {
		if p.N > 0 {
			p.X, p.Wide = x, 1000*float64(p.N)/float64(t.Total)
			x += p.Wide
			b.Parts = append(b.Parts, p)
			said = append(said, number(p.N)+" "+p.Name)
		}
	}
	b.Says = strings.Join(said, ", ")
	return b
}
