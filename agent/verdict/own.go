// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
)

// The API's limits on what is recorded, in bytes.
const (
	MaxFacts   = 512 << 10
	MaxSummary = 4 << 10 // also on errors
)

// Record is what a step has come to, as it is recorded, and the form in which a command says it.
type Record struct {
	State   string          `json:"state"`
	Facts   json.RawMessage `json:"facts"`
	Summary string          `json:"summary"`
}

// errFactsTooLarge says that the API would not take the facts.
var errFactsTooLarge = fmt.Errorf("it is too large: its facts have more than %d KiB", MaxFacts>>10)

// ReadOwn reads Picket's own form: one object, and nothing behind it. Who calls bounds what r holds.
func ReadOwn(r io.Reader) (Record, error) {
	const form = `{"state": …, "facts": {…}, "summary": …}`
	doc, err := io.ReadAll(r)
	if err != nil {
		return Record{}, err
	}
	if len(bytes.TrimSpace(doc)) == 0 {
		return Record{}, fmt.Errorf("it is empty: %s is needed", form)
	}
	var out Record
	var m members
	err = resultForm.check(doc)
	if err == nil && json.Unmarshal(doc, &m) != nil {
		err = errors.New("it is no object")
	}
	out.Facts = m["facts"]
	if err == nil {
		err = cmp.Or(m.member("state", &out.State, "text"), m.member("summary", &out.Summary, "text"))
	}
	switch {
	case errors.Is(err, errBehind):
		return Record{}, err
	case err != nil:
		return Record{}, fmt.Errorf("it is not %s (%s); for a scanner's own report set parse", form, plain.Line(err.Error(), 0))
	case out.State == "":
		return Record{}, fmt.Errorf("it has no state: %s is needed", form)
	}
	if len(out.Facts) > MaxFacts {
		return Record{}, errFactsTooLarge
	}
	if f := bytes.TrimSpace(out.Facts); len(f) > 0 && f[0] != '{' && string(f) != "null" {
		return Record{}, errors.New("its facts are not an object")
	} else if string(f) == "null" {
		out.Facts = nil
	}
	out.Summary = plain.Line(out.Summary, MaxSummary)
	return out, nil
}

// IntelFacts are what the step intel records beside what a command of its own says.
type IntelFacts struct {
	KEV       bool               `json:"kev"` // one of the findings is known to be exploited
	KEVIDs    []string           `json:"kev_ids"`
	KEVDate   string             `json:"kev_date,omitempty"`
	EPSS      float64            `json:"epss"` // the highest
	EPSSID    string             `json:"epss_id,omitempty"`
	EPSSDate  string             `json:"epss_date,omitempty"`
	Old       []string           `json:"old,omitempty"`       // catalogues that were old
	Unchecked *int               `json:"unchecked,omitempty"` // CVEs that could not be asked for; nil when a command does not say
	Omitted   int                `json:"omitted,omitempty"`
	Lacks     *exploitation      `json:"omitted_figures,omitempty"` // what is known of CVEs that findings do not have; nil when a command does not say
	Findings  []findings.Finding `json:"findings"`                  // those of vuln, with what is known of them

	said Figures // what a command says of its own figures
}

// exploitation is what intelligence knows of some CVEs.
type exploitation struct {
	KEV  bool    `json:"kev"`
	EPSS float64 `json:"epss"`
}

// Lack notes what is known of a CVE that Findings do not have.
func (f *IntelFacts) Lack(kev bool, epss float64) {
	if f.Lacks == nil {
		f.Lacks = &exploitation{}
	}
	f.Lacks.KEV, f.Lacks.EPSS = f.Lacks.KEV || kev, max(f.Lacks.EPSS, epss)
}

// ReadIntelFacts reads what the step intel says, which a command may have written.
func ReadIntelFacts(facts json.RawMessage) (f IntelFacts, err error) {
	if len(facts) == 0 {
		return f, nil
	}
	if err := factsForm.check(facts); err != nil {
		return f, err
	}
	var m members
	if err := json.Unmarshal(facts, &m); err != nil {
		return f, errors.New("they are not an object")
	}
	said, err := readFigures(m)
	f.KEV, f.KEVIDs, f.EPSS, f.Omitted, f.said = said.KEV, said.KEVIDs, said.EPSS, said.Omitted, said.Figures
	const texts = "a list of texts"
	err = cmp.Or(
		err, ToldError(facts), m.member("kev_date", &f.KEVDate, "text"), m.member("epss_id", &f.EPSSID, "text"), m.member("epss_date", &f.EPSSDate, "text"),
		m.member("old", &f.Old, texts), m.member("unchecked", &f.Unchecked, "a whole number"),
		m.member("omitted_figures", &f.Lacks, "an object"),
	)
	switch list := m["findings"]; {
	case err != nil:
	case list != nil && string(list) != "null":
		f.Findings, err = findings.Parse(PlainFindings, bytes.NewReader(facts))
	}
	return f, err
}

func (f IntelFacts) Sentence() string {
	said := []string{"none is known to be exploited"}
	if f.KEV {
		said[0] = "known to be exploited: " + BriefList(f.KEVIDs, 3)
	} else if f.KEVDate == "" {
		said = nil
	}
	if f.EPSSID != "" {
		said = append(said, fmt.Sprintf("EPSS up to %g (%s)", f.EPSS, f.EPSSID))
	}
	return strings.Join(said, ", ")
}
