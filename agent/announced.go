// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"cmp"
	"fmt"
	"strings"
	"text/template"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"

	"github.com/picketd/picket/agent/verdict"
)

// announced is what the templates of a notification may name.
type announced struct {
	values
	verdict.Figures
	Findings []findings.Finding // the most severe first; as many as fit
	Accepted int                // findings that are left out: their risk is accepted
	Ended    []string           // which acceptances are over: "acceptance of CVE-2024-1234 ended on 2027-01-31"
	Because  string             // the parts of the condition that hold
	Brief    string             // the worst of it in a few words
}

// newText compiles a template of a notification.
func newText(text string) (*template.Template, error) {
	one := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10, Title: "x", Aliases: []string{"x"}, FixedIn: "2", URL: "https://example.com/"}
	return parseTemplate(text, announced{values: sample, Findings: []findings.Finding{one}, Accepted: 1, Ended: []string{"x"}})
}

// The API's limits, in bytes, and what of the facts is sent along.
const (
	maxTitle     = 256
	maxText      = 32 << 10
	maxSentFacts = 64 << 10
)

// shownEndings is how many acceptances that are over a message names.
const shownEndings = 10

// fittingText fills the template with as many findings as the limit allows, and counts the others at its end
// if it lists any.
func fittingText(t *template.Template, v announced) (string, error) {
	all, lists := v.Findings, strings.Contains(t.Root.String(), ".Findings")
	for n := len(all); ; {
		v.Findings = all[:n]
		text, err := render(t, v)
		if err != nil {
			return "", err
		}
		text = plain.Text(text)
		if left := v.Count - n; left > 0 && lists {
			text += fmt.Sprintf("\n… and %d more", left)
		}
		if len(text) <= maxText || n == 0 {
			text = cmp.Or(text, v.Because)
			return plain.Cut(text, maxText), nil
		}
		n = min(n-1, n*maxText/len(text)+1)
	}
}
