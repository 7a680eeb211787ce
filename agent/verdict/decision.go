// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// AssessFacts are the inputs and the result of the decision, so that it can be explained later.
type AssessFacts struct {
	HighRisk  bool        `json:"high_risk"`
	Condition string      `json:"condition"`
	Parts     []judged    `json:"parts"` // of the condition, one by one
	Inputs    Figures     `json:"inputs"`
	Left      int         `json:"left,omitempty"` // findings for which the list had no room
	Intel     intelUse    `json:"intel"`
	Findings  []Reference `json:"findings"`           // the most severe few
	Accepted  *Accepted   `json:"accepted,omitempty"` // what did not count; nil where no file says what is accepted
	ToldBy    *ToldBy     `json:"told_by,omitempty"`  // why people are not told again
	LeftTo    string      `json:"left_to,omitempty"`  // the ticket of the report that alone is to tell people
}

// judged is a part of a condition with what it came to.
type judged struct {
	Condition string `json:"condition"`
	Holds     bool   `json:"holds"`
	Because   string `json:"because"` // the inputs that it names
}

// intelUse says what intelligence the decision rests on.
type intelUse struct {
	Used      bool     `json:"used"`
	Skipped   string   `json:"skipped,omitempty"` // why it was not
	KEVIDs    []string `json:"kev_ids,omitempty"`
	KEVDate   string   `json:"kev_date,omitempty"`
	EPSSID    string   `json:"epss_id,omitempty"`
	EPSSDate  string   `json:"epss_date,omitempty"`
	Old       []string `json:"old,omitempty"`
	Unchecked int      `json:"unchecked,omitempty"`
}

// ToldBy is the earlier ticket that told the same.
type ToldBy struct {
	Ticket string    `json:"ticket"`
	At     time.Time `json:"at"`
	Repeat string    `json:"repeat"`         // for how long it is not told again
	On     []string  `json:"on,omitempty"`   // channels that have a receipt, of that ticket or one between
	Open   []string  `json:"open,omitempty"` // channels on which nobody has got it: they are told now
}

// shownFindings is how many findings the facts of assess refer to.
const shownFindings = 10

// Contradiction is what a command's facts say against its verdict of no high risk.
func Contradiction(out Record) error {
	var f struct {
		HighRisk any `json:"high_risk"`
	}
	if err := json.Unmarshal(out.Facts, &f); err == nil && f.HighRisk == true {
		return fmt.Errorf("its state is %s, and its facts say that the risk is high", out.State)
	}
	return ToldError(out.Facts)
}

// Decide evaluates the condition over the evidence, less what is accepted. skipped says why intelligence was not asked.
func Decide(c *Condition, e Evidence, accepted *Accepted, skipped string) (Record, error) {
	e = e.Without(accepted)
	f := AssessFacts{
		Condition: c.text, Inputs: e.Figures, Left: e.left, Intel: intelUse{Skipped: skipped}, Accepted: accepted,
		Findings: e.worst(shownFindings),
	}
	if i := e.intel; i != nil {
		f.Intel = intelUse{true, "", i.KEVIDs, i.KEVDate, i.EPSSID, i.EPSSDate, i.Old, e.unasked}
	}
	var err error
	if f.HighRisk, err = c.Holds(e); err != nil {
		return Record{}, fmt.Errorf("cannot decide whether the risk is high (step.assess.high_risk): %w", err)
	}
	for _, p := range c.parts {
		holds, err := c.evaluate(p, e)
		f.Parts = append(f.Parts, judged{p.text, err == nil && holds, f.because(p.text)})
	}
	facts, err := plain.JSON(f)
	if err != nil {
		return Record{}, err
	}
	out, said := Record{State: client.StateFinished, Facts: facts}, []string{"no high risk: " + e.sentence()}
	if e.Count == 0 && e.Accepted > 0 {
		said[0] = "no high risk: nothing else found"
	}
	if f.HighRisk {
		out.State, said, e.notes = client.StateHighRiskFound, []string{"high risk: " + f.Reasons()}, nil
	}
	out.Summary = plain.Cut(strings.Join(slices.Concat(said, accepted.sentences(), e.notes), "; "), MaxSummary)
	return out, nil
}

var wordForm = regexp.MustCompile(`[a-z_]+`)

// because names the inputs that a part of the condition rests on.
func (f AssessFacts) because(part string) string {
	in := f.Inputs
	value := map[string]string{
		"max_cvss": num(in.MaxCVSS), "epss": num(in.EPSS), "count": strconv.Itoa(in.Count), "critical": strconv.Itoa(in.Critical),
		"high": strconv.Itoa(in.High), "medium": strconv.Itoa(in.Medium), "low": strconv.Itoa(in.Low), "info": strconv.Itoa(in.Info),
		"unknown": strconv.Itoa(in.Unknown), "kev": strconv.FormatBool(in.KEV),
	}
	if in.TopCVSS < in.MaxCVSS {
		value["max_cvss"] += ", from the severity alone"
	}
	if in.KEV && len(f.Intel.KEVIDs) > 0 {
		value["kev"] += ", " + BriefList(f.Intel.KEVIDs, 3)
	}
	if f.Intel.EPSSID != "" {
		value["epss"] += " of " + f.Intel.EPSSID
	}
	var said []string
	seen := map[string]bool{}
	for _, word := range wordForm.FindAllString(part, -1) {
		if v, ok := value[word]; ok && !seen[word] {
			seen[word] = true
			said = append(said, word+" is "+v)
		}
	}
	if f.Left > 0 && slices.Contains(wordForm.FindAllString(part, -1), "findings") {
		said = append(said, fmt.Sprintf("looked for in %d of %s", f.Inputs.Count-f.Left, plain.Count(f.Inputs.Count, "finding", "findings")))
	}
	return strings.Join(said, ", ")
}

// Reasons says which parts hold, and what they rest on.
func (f AssessFacts) Reasons() string {
	var said []string
	for _, p := range f.Parts {
		if p.Holds {
			said = append(said, p.words())
		}
	}
	if said == nil { // of a condition such as: not (…)
		return f.Condition
	}
	return strings.Join(said, "; ")
}

// words is the part with what it rests on.
func (p judged) words() string {
	if p.Because == "" {
		return p.Condition
	}
	return fmt.Sprintf("%s (%s)", p.Condition, p.Because)
}

// NewReason says whether a part of the condition holds that did not hold then, or an acceptance has ended since.
func NewReason(now, then AssessFacts) bool {
	return slices.ContainsFunc(now.Parts, func(p judged) bool {
		return p.Holds && !slices.ContainsFunc(then.Parts, func(q judged) bool { return q.Holds && q.Condition == p.Condition })
	}) || now.Accepted.endedSince(then.Accepted)
}
