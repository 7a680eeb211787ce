// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package draw

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/picketd/picket/proof/history"
)

// since is a time in seconds from another.
func since(zero, at int64) string { return fmt.Sprintf("%.3f s", time.Duration(at-zero).Seconds()) }

// answered is what is shown of an answer's body.
type answered struct {
	Code  string `json:"code"`
	Claim *struct {
		Token     int64  `json:"token"`
		Status    string `json:"status"`
		TrustedMS int64  `json:"trusted_ms"`
	} `json:"claim"`
	Ticket *struct {
		State string `json:"state"`
		Run   int64  `json:"run"`
	} `json:"ticket"`
	Replayed bool `json:"replayed"`
}

func decode(a *history.Answer) (body answered) {
	_ = json.Unmarshal(a.Body, &body) // 204 has none
	return body
}

// trusted is until how long after its call an answer has a claim trusted, and its token; 0: it does not.
func trusted(a *history.Answer) (long, token int64) {
	if c := decode(a).Claim; a.Status/100 == 2 && c != nil && c.Status == "held" {
		return c.TrustedMS * int64(time.Millisecond), c.Token
	}
	return 0, 0
}

// class is how an answer is coloured.
func class(a *history.Answer) string {
	switch {
	case a.Status == 0:
		return "open"
	case a.Status < 300:
		return "done"
	case a.Status < 500:
		return "refused"
	}
	return "away"
}

// mostOf is how much of a text is shown.
const mostOf = 400

func cut(s string) string {
	if len(s) > mostOf {
		return strings.ToValidUTF8(s[:mostOf], "") + "…"
	}
	return s
}

// describe is a record in words.
func describe(r history.Record) string {
	switch {
	case r.Setup != nil:
		return fmt.Sprintf("%s, %s, seed %d, locks of %d ms", r.Setup.Topology, r.Setup.Profile, r.Setup.Seed, r.Setup.TTLMS)
	case r.Call != nil:
		return strings.TrimSpace(r.Call.Method + " " + r.Call.Path + " " + cut(string(r.Call.Body)))
	case r.Answer != nil:
		return describeAnswer(r.Answer)
	case r.Sending != nil:
		s := r.Sending
		return fmt.Sprintf("%q from %s with the key %s, answered %d", s.Title, s.Host, s.Key, s.Status)
	case r.Fault != nil:
		return describeFault(r.Fault)
	case r.Audit != nil:
		f := r.Audit.Fields
		return fmt.Sprintf("%s %s: %s", f["PICKET_SEQ"], f["PICKET_EVENT"], cut(f["MESSAGE"]))
	case r.Process != nil:
		return strings.TrimSpace(fmt.Sprintf("%s %d on %s %s %s", r.Process.Kind, r.Process.PID, r.Process.Host, r.Process.Detail, ended(r.Process.End)))
	}
	return ""
}

func ended(end bool) string {
	if end {
		return "ends"
	}
	return ""
}

func describeAnswer(a *history.Answer) string {
	if a.Status == 0 {
		return "no answer: " + cut(a.Error)
	}
	body, text := decode(a), fmt.Sprint(a.Status)
	if body.Code != "" {
		text += " " + body.Code
	}
	if c := body.Claim; c != nil {
		text += fmt.Sprintf(", claim %s, token %d, trusted for %d ms", c.Status, c.Token, c.TrustedMS)
	}
	if t := body.Ticket; t != nil {
		text += fmt.Sprintf(", ticket %s in run %d", t.State, t.Run)
	}
	if body.Replayed {
		text += ", replayed"
	}
	return text + "\n" + cut(string(a.Body))
}

func describeFault(f *history.Fault) string {
	text := f.Name + " " + f.Target
	if f.Loses {
		text += ", may lose data"
	}
	if f.Steps {
		text += ", sets a clock"
	}
	return strings.TrimSpace(text + " " + f.Detail)
}
