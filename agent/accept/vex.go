// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
)

// vexDocument is an OpenVEX document (https://github.com/openvex/spec, version 0.2.0). An unknown name in it is an error: a
// subcomponent that is misspelt would accept too much.
type vexDocument struct {
	Context    string         `json:"@context"`
	Author     string         `json:"author"`
	Timestamp  time.Time      `json:"timestamp"`
	Statements []vexStatement `json:"statements"`

	ID          jsontext.Value `json:"@id"`
	Role        jsontext.Value `json:"role"`
	Supplier    jsontext.Value `json:"supplier"`
	LastUpdated jsontext.Value `json:"last_updated"`
	Version     jsontext.Value `json:"version"`
	Tooling     jsontext.Value `json:"tooling"`
}

// vexStatement says how a vulnerability stands in products.
type vexStatement struct {
	Vulnerability struct {
		Name        string         `json:"name"`
		Aliases     []string       `json:"aliases"`
		ID          jsontext.Value `json:"@id"`
		Description jsontext.Value `json:"description"`
	} `json:"vulnerability"`
	Timestamp       time.Time    `json:"timestamp"` // Defaults to the document's
	Products        []vexProduct `json:"products"`
	Status          string       `json:"status"`
	Justification   string       `json:"justification"`
	ImpactStatement string       `json:"impact_statement"`
	StatusNotes     string       `json:"status_notes"`

	ID                       jsontext.Value `json:"@id"`
	Version                  jsontext.Value `json:"version"`
	LastUpdated              jsontext.Value `json:"last_updated"`
	Supplier                 jsontext.Value `json:"supplier"`
	ActionStatement          jsontext.Value `json:"action_statement"`
	ActionStatementTimestamp jsontext.Value `json:"action_statement_timestamp"`
}

const vexContext = "https://openvex.dev/ns/v0.2.0"

var (
	vexStatuses       = []string{"not_affected", "affected", "fixed", "under_investigation"}
	vexJustifications = []string{
		"component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
		"vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist",
	}
)

// readVEX makes rules of an OpenVEX document. Its error is a strict.Error, with a line for each thing that is wrong.
func readVEX(path string, doc []byte) ([]rule, error) {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	var d vexDocument
	if err := json.Unmarshal(doc, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, strict.Error{vexError(path, doc, err)}
	}
	var wrong strict.Problems
	wrong.Demand(d.Context == vexContext, "@context", "is %q: write %q, the version of OpenVEX that is understood", plain.Line(d.Context, 128), vexContext)
	wrong.Demand(strings.TrimSpace(d.Author) != "", "author", "is missing: who says it is recorded")
	wrong.Demand(!d.Timestamp.IsZero(), "timestamp", "is missing: write when the document was made, such as 2026-12-01T08:00:00Z")
	wrong.Demand(len(d.Statements) > 0, "statements", "has none")
	wrong.Demand(len(d.Statements) <= maxEntries, "statements", "has %d: write %d at most, and the rest into another document", len(d.Statements), maxEntries)
	var rules []rule
	for i, s := range d.Statements {
		key := fmt.Sprintf("statements[%d]", i)
		s.check(&wrong, key)
		r := rule{
			id: s.Vulnerability.Name, names: append([]string{s.Vulnerability.Name}, s.Vulnerability.Aliases...), vex: true,
			accepts: s.Status == "not_affected" || s.Status == "fixed", by: d.Author, reason: s.reason(),
			source: path + ", " + key, made: s.Timestamp,
		}
		if r.made.IsZero() {
			r.made = d.Timestamp
		}
		if len(s.Products) == 0 {
			s.Products = []vexProduct{{}}
		}
		for _, p := range s.Products {
			r.number, r.about, r.meets = len(rules), p.String(), p.matcher()
			rules = append(rules, r)
		}
	}
	return rules, strict.Located(path, nil, wrong)
}

// check asks whether a statement says what it must.
func (s vexStatement) check(wrong *strict.Problems, key string) {
	for i, name := range append([]string{s.Vulnerability.Name}, s.Vulnerability.Aliases...) {
		where := key + ".vulnerability.name"
		if i > 0 {
			where = fmt.Sprintf("%s.vulnerability.aliases[%d]", key, i-1)
		}
		why := wrongID(name)
		wrong.Demand(why == "", where, "%s", why)
	}
	wrong.Demand(slices.Contains(vexStatuses, s.Status), key+".status", "is %q: %s", plain.Line(s.Status, 64), strict.Suggest(s.Status, vexStatuses))
	if s.Justification != "" {
		wrong.Demand(slices.Contains(vexJustifications, s.Justification), key+".justification", "is %q: %s",
			plain.Line(s.Justification, 64), strict.Suggest(s.Justification, vexJustifications))
	}
	wrong.Demand(s.Status != "not_affected" || s.Justification != "" || strings.TrimSpace(s.ImpactStatement) != "", key,
		"says not_affected, and not why: give a justification or an impact_statement")
	wrong.Demand(len(s.Products) <= maxEntries, key+".products", "has %d: write %d at most", len(s.Products), maxEntries)
	for i, p := range s.Products {
		for _, c := range append([]vexComponent{p.vexComponent}, p.Subcomponents...) {
			why := c.wrong()
			wrong.Demand(why == "", fmt.Sprintf("%s.products[%d]", key, i), "%s", why)
		}
	}
}

// reason is why a statement accepts.
func (s vexStatement) reason() string {
	said := slices.DeleteFunc([]string{s.Justification, s.ImpactStatement, s.StatusNotes}, func(text string) bool { return strings.TrimSpace(text) == "" })
	if s.Status == "fixed" {
		said = append([]string{s.Status}, said...)
	}
	return strings.Join(said, ": ")
}

// vexError is the library's error in one line: where, and what is wrong.
func vexError(path string, doc []byte, err error) string {
	at, where, what := int64(0), jsontext.Pointer(""), ""
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		at, where = e.ByteOffset, e.JSONPointer
		switch {
		case errors.Is(e.Err, json.ErrUnknownName):
			what = "is not known in OpenVEX"
		case e.Err != nil:
			what = "cannot be used: " + e.Err.Error()
		default:
			what = fmt.Sprintf("must not be a JSON %v", e.JSONKind)
		}
	} else if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, where, what = e.ByteOffset, e.JSONPointer, "is no JSON: "+e.Err.Error()
	}
	line := 1 + bytes.Count(doc[:min(at, int64(len(doc)))], []byte("\n"))
	return plain.Line(fmt.Sprintf("%s:%d: %s: %s", path, line, cmp.Or(string(where), "the document"), what), 1024)
}
