// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// assessFacts are the inputs and the result of the decision, so that it can be explained later.
type assessFacts struct {
	HighRisk  bool               `json:"high_risk"`
	Condition string             `json:"condition"`
	Parts     []judged           `json:"parts"` // of the condition, one by one
	Inputs    figures            `json:"inputs"`
	Left      int                `json:"left,omitempty"` // findings for which the list had no room
	Intel     intelUse           `json:"intel"`
	Findings  []findings.Finding `json:"findings"`          // the most severe few
	ToldBy    *toldBy            `json:"told_by,omitempty"` // why people are not told again
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

// toldBy is the earlier ticket that told the same.
type toldBy struct {
	Ticket string    `json:"ticket"`
	At     time.Time `json:"at"`
	Repeat string    `json:"repeat"`         // for how long it is not told again
	On     []string  `json:"on,omitempty"`   // channels that have a receipt, of that ticket or one between
	Open   []string  `json:"open,omitempty"` // channels on which nobody has got it: they are told now
}

// shownFindings is how many findings stand in the facts of assess.
const shownFindings = 10

// needsIntel says whether the catalogues are to be asked, else why not.
func (j *job) needsIntel(e evidence) (needed bool, skipped string, err error) {
	c := j.a.config
	switch {
	case !c.hasIntel():
		return false, "none is configured", nil
	case j.a.plan.when == nil:
		return true, "", nil
	}
	needed, err = j.a.plan.when.holds(e)
	if errors.Is(err, errCut) {
		return true, "", nil // to ask is never wrong
	}
	if err != nil {
		return false, "", fmt.Errorf("cannot decide whether intelligence is needed (step.intel.when): %w", err)
	}
	if !needed {
		skipped = fmt.Sprintf("%s does not hold", c.Step.Intel.When)
	}
	return needed, skipped, nil
}

// assess decides whether the risk is high, and whether people have been told of just this.
func (j *job) assess(ctx context.Context) (result, error) {
	e, err := evidenceOf(j.ticket)
	if err != nil {
		return result{}, permanent{err}
	}
	var out result
	if j.a.plan.assess != nil {
		if out, err = j.ownResult(ctx, j.a.plan.assess, j.a.config.Step.Assess.OKExit); err == nil && out.State != client.StateHighRiskFound {
			err = contradiction(out)
		}
	} else {
		out, err = j.decide(e)
	}
	if err != nil || out.State != client.StateHighRiskFound {
		return out, err
	}
	told, err := j.alreadyTold(ctx, e, out.Facts)
	if err != nil || told == nil {
		return out, err
	}
	if len(told.Open) == 0 {
		out.State = client.StateFinished
		out.Summary = plain.Cut(fmt.Sprintf("not told again: %s told it at %s; %s", told.Ticket, told.At.UTC().Format(moment), out.Summary), maxSummary)
	}
	addition, err := plain.JSON(map[string]any{"told_by": told})
	if err != nil {
		return result{}, err
	}
	if out.Facts == nil {
		out.Facts = json.RawMessage("{}")
	}
	out.Facts, err = merged(out.Facts, addition)
	return out, err
}

// contradiction is what a command's facts say against its verdict of no high risk.
func contradiction(out result) error {
	var f struct {
		HighRisk any `json:"high_risk"`
	}
	if err := json.Unmarshal(out.Facts, &f); err == nil && f.HighRisk == true {
		return fmt.Errorf("its state is %s, and its facts say that the risk is high", out.State)
	}
	return toldError(out.Facts)
}

// decide evaluates the condition.
func (j *job) decide(e evidence) (result, error) {
	_, skipped, err := j.needsIntel(e)
	if err != nil {
		return result{}, permanent{err}
	}
	c := j.a.plan.highRisk
	f := assessFacts{
		Condition: c.text, Inputs: e.figures, Left: e.left, Intel: intelUse{Skipped: skipped},
		Findings: e.findings[:min(len(e.findings), shownFindings)],
	}
	if i := e.intel; i != nil {
		f.Intel = intelUse{true, "", i.KEVIDs, i.KEVDate, i.EPSSID, i.EPSSDate, i.Old, e.unasked}
	}
	if f.HighRisk, err = c.holds(e); err != nil {
		return result{}, permanent{fmt.Errorf("cannot decide whether the risk is high (step.assess.high_risk): %w", err)}
	}
	for _, p := range c.parts {
		holds, err := c.evaluate(p, e)
		f.Parts = append(f.Parts, judged{p.text, err == nil && holds, f.because(p.text)})
	}
	facts, err := plain.JSON(f)
	if err != nil {
		return result{}, err
	}
	out := result{client.StateFinished, facts, plain.Cut(strings.Join(append([]string{"no high risk: " + e.sentence()}, e.notes...), "; "), maxSummary)}
	if f.HighRisk {
		out.State, out.Summary = client.StateHighRiskFound, plain.Cut("high risk: "+f.reasons(), maxSummary)
	}
	return out, nil
}

var wordForm = regexp.MustCompile(`[a-z_]+`)

// because names the inputs that a part of the condition rests on.
func (f assessFacts) because(part string) string {
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
		value["kev"] += ", " + briefList(f.Intel.KEVIDs, 3)
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
		said = append(said, fmt.Sprintf("looked for in %d of %s", f.Inputs.Count-f.Left, plural(f.Inputs.Count, "finding")))
	}
	return strings.Join(said, ", ")
}

func num(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// reasons says which parts hold, and what they rest on.
func (f assessFacts) reasons() string {
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
