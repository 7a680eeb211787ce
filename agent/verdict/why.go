// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// Explanation says why a ticket stands where it stands: what was decided, from which inputs.
type Explanation struct {
	Ticket   string          `json:"ticket"`
	State    string          `json:"state"`
	HighRisk *bool           `json:"high_risk"` // null when it was not assessed, or by a command that does not say
	Decision json.RawMessage `json:"decision"`  // the facts of assess, null when there are none

	Findings []findings.Finding `json:"findings"` // those to which the decision refers
	Words    []string           `json:"words"`    // the same for people, line by line
}

// Why explains a ticket from what is recorded in it.
func Why(t client.Ticket) Explanation {
	x := Explanation{Ticket: t.ID, State: t.State, Findings: []findings.Finding{}, Words: []string{}}
	say := func(format string, args ...any) {
		x.Words = append(x.Words, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
	if t.Damaged != "" {
		say("The ticket is damaged: %s. What is left of it:", t.Damaged)
	}
	for _, name := range []string{client.StepOnline, client.StepVuln, client.StepIntel} {
		if s, ok := t.Steps[name]; ok {
			say("%s: %s, recorded by %s at %s", name, cmp.Or(s.Summary, s.State), s.Host, s.At.UTC().Format(TimeForm))
		}
	}
	step, ok := t.Steps[client.StepAssess]
	if !ok && t.Damaged != "" {
		x.HighRisk = t.HighRisk
		return x
	}
	if !ok {
		say("Nothing has been assessed: the ticket is %s.", t.State)
		if t.Failure != nil {
			say("The step %s failed: %s", t.Failure.Step, t.Failure.Error)
		}
		return x
	}
	x.Decision = step.Facts
	var f AssessFacts
	if err := json.Unmarshal(step.Facts, &f); err != nil || f.Condition == "" {
		high := step.State == client.StateHighRiskFound || f.ToldBy != nil || f.LeftTo != ""
		x.HighRisk = &high
		say("assess: decided by a command: %s %s", step.State, step.Summary)
	} else {
		x.HighRisk = &f.HighRisk
		e, _ := EvidenceOf(t) // a command may have decided from facts of another form
		x.Findings = e.referred(f.Findings)
		f.explain(say, x.Findings)
	}
	if f.LeftTo != "" {
		say("People are not told of it by itself, but by the report %s: that ticket says whether they were.", f.LeftTo)
	}
	if by := f.ToldBy; by != nil {
		again := "People were not told again"
		if len(by.Open) > 0 {
			again = "People are to be told again only by " + BriefList(by.Open, 5) + ", where nobody had got it"
		}
		say("%s: %s told them the same at %s, and it is not repeated for %s.", again, by.Ticket, by.At.UTC().Format(TimeForm), by.Repeat)
	}
	if n := t.Notification; n != nil {
		said := "People were not told"
		switch {
		case WasTold(t):
			said = "People were told"
		case hasDelivery(t, client.DeliveryPending, client.DeliverySending, client.DeliveryUnknown, client.DeliveryParked):
			said = "People are being told"
		case f.ToldBy != nil:
			said = "Nobody else was told"
		}
		say("%s (%s), %s, accepted at %s: %s", said, deliveries(t), n.Severity, n.At.UTC().Format(TimeForm), n.Title)
	}
	if t.State == client.StateFailed {
		say("The ticket is FAILED: %s", WhyFailed(t))
	}
	return x
}

func (f AssessFacts) explain(say func(string, ...any), worst []findings.Finding) {
	verdict := "The risk is not high, because this does not hold"
	if f.HighRisk {
		verdict = "The risk is high, because this holds"
	}
	say("%s: %s", verdict, f.Condition)
	for _, p := range f.Parts {
		sign := "no "
		if p.Holds {
			sign = "yes"
		}
		say("  %s  %s", sign, p.words())
	}
	in := f.Inputs
	say("It was decided from %s: %d critical, %d high, %d medium, %d low, %d info, %d of unknown severity; max_cvss %s.",
		plain.Count(in.Count, "finding", "findings"), in.Critical, in.High, in.Medium, in.Low, in.Info, in.Unknown, num(in.MaxCVSS))
	if in.TopCVSS < in.MaxCVSS {
		say("That max_cvss is the lowest of a severity: no scanner gave a score as high.")
	}
	if f.Left > 0 {
		say("The list had no room for the least severe: %d of %s are not in it; the figures count them.", f.Left, plain.Count(in.Count, "finding", "findings"))
	}
	switch i := f.Intel; {
	case !i.Used:
		say("Intelligence was not asked: %s.", i.Skipped)
	case i.KEVDate == "" && i.EPSSDate == "":
		say("Intelligence was asked by a command.")
	default:
		var asked []string
		if i.KEVDate != "" {
			asked = append(asked, "KEV of "+i.KEVDate)
		}
		if i.EPSSDate != "" {
			asked = append(asked, "EPSS of "+i.EPSSDate)
		}
		say("Intelligence was asked: %s.", strings.Join(asked, ", "))
		if len(i.Old) > 0 {
			say("It was old then: %s.", BriefList(i.Old, 2))
		}
	}
	if f.Intel.Unchecked > 0 {
		say("%d CVEs could not be asked for.", f.Intel.Unchecked)
	}
	f.Accepted.explain(say)
	for _, one := range worst {
		score := ""
		if one.CVSS > 0 {
			score = "CVSS " + num(one.CVSS) + " "
		}
		mend := ""
		if one.FixedIn != "" {
			mend = ", fixed in " + one.FixedIn
		}
		say("  %s %s %s%s%s %s", one.ID, one.Severity, score, cmp.Or(one.Package, one.Location), mend, one.URL)
	}
}

// hasDelivery says whether a notification has one of these statuses on any channel.
func hasDelivery(t client.Ticket, statuses ...string) bool {
	for _, d := range t.Delivery {
		if slices.Contains(statuses, d.Status) {
			return true
		}
	}
	return false
}

// WasTold says whether there is a receipt: somebody has got the notification.
func WasTold(t client.Ticket) bool {
	return t.Notification != nil && hasDelivery(t, client.DeliverySent)
}

// deliveries says how it stands with each channel.
func deliveries(t client.Ticket) string {
	if len(t.Delivery) == 0 {
		return "no channel"
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(t.Delivery)) {
		d := t.Delivery[name]
		one := name + ": " + d.Status
		if d.Error != "" {
			one += ": " + plain.Line(d.Error, 0)
		}
		said = append(said, one)
	}
	return strings.Join(said, "; ")
}

// toldBefore is the earlier ticket that told the same on other channels, or nil.
func toldBefore(t client.Ticket) *ToldBy {
	var f AssessFacts
	_ = json.Unmarshal(t.Steps[client.StepAssess].Facts, &f) // a command's may be of another form
	return f.ToldBy
}

// WhyFailed says why a ticket is FAILED.
func WhyFailed(t client.Ticket) string {
	before := toldBefore(t)
	switch {
	case t.Failure != nil:
		return t.Failure.Step + ": " + t.Failure.Error
	case t.Notification != nil && !WasTold(t) && before != nil:
		return fmt.Sprintf("not all were told (%s); %s told the others at %s", deliveries(t), before.Ticket, before.At.UTC().Format(TimeForm))
	case t.Notification != nil && !WasTold(t):
		return "people were not told (" + deliveries(t) + ")"
	case hasDelivery(t, client.DeliveryDead):
		return "not all were told (" + deliveries(t) + ")"
	}
	return cmp.Or(t.Summary, "nothing says why; picket ticket history may")
}

// LastWord is what a person wants to know of a ticket first: that it is damaged, what failed last, or why it is FAILED, else what came of
// it.
func LastWord(t client.Ticket) string {
	switch {
	case t.Damaged != "":
		return "damaged: " + t.Damaged
	case t.Failure != nil, t.State == client.StateFailed:
		return WhyFailed(t)
	}
	return t.Summary
}
