// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/picketd/picket/agent/assets"
)

// State is a state of a flow.
type State string

// The states of the built-in flows. Failed, Finished, Notified and Notifying are those of every flow.
const (
	Init          State = "INIT"
	AssetOnline   State = "ASSET_ONLINE"
	AssetOffline  State = "ASSET_OFFLINE"
	VulnCheckDone State = "VULN_CHECK_DONE"
	HighRiskFound State = "HIGH_RISK_FOUND"
	Gathered      State = "GATHERED"
	Notifying     State = "NOTIFYING"
	Notified      State = "NOTIFIED"
	Finished      State = "FINISHED"
	Failed        State = "FAILED"
)

// The names of the two calls that stand beside the steps in Next.
const (
	NotifyCall = "notify"
	FinishCall = "finish"
)

// The names of the built-in flows. DefaultFlow is that of a claim that names none.
const (
	DefaultFlow    = "asset-inference"
	ListReportFlow = "list-report"
)

// Flow is the state machine that a ticket follows. Its arrows are what agents may do; NOTIFYING is left by delivery alone,
// which no arrow shows.
type Flow struct {
	Name    string
	Initial State
	arrows  []arrow
}

type arrow struct {
	from State
	by   string // a step, or notify or finish
	to   State
}

// AssetInference takes an asset from the question whether it is online to what people are told of it.
var AssetInference = &Flow{
	Name:    DefaultFlow,
	Initial: Init,
	arrows: []arrow{
		{Init, "online", AssetOnline},
		{Init, "online", AssetOffline},
		{AssetOffline, "online", AssetOnline},
		{AssetOffline, FinishCall, Finished},
		{AssetOnline, "vuln", VulnCheckDone},
		{VulnCheckDone, "intel", VulnCheckDone},
		{VulnCheckDone, "assess", HighRiskFound},
		{VulnCheckDone, "assess", Finished},
		{VulnCheckDone, FinishCall, Finished},
		{HighRiskFound, NotifyCall, Notifying},
		{Notifying, FinishCall, Finished},
		{Notified, FinishCall, Finished},
	},
}

// ListReport tells people what came of a list. Its assets begin with list:, and no other flow's do.
var ListReport = &Flow{
	Name:    ListReportFlow,
	Initial: Init,
	arrows: []arrow{
		{Init, "gather", Gathered},
		{Gathered, NotifyCall, Notifying},
		{Gathered, FinishCall, Finished},
		{Notifying, FinishCall, Finished},
		{Notified, FinishCall, Finished},
	},
}

var flows = []*Flow{AssetInference, ListReport}

// Next is one thing that may come next: a step with the states it may lead to, or notify or finish.
type Next struct {
	Step   string
	States []State
}

// LookupFlow returns a flow by name, asset-inference for "", or ErrUnknownFlow.
func LookupFlow(name string) (*Flow, error) {
	for _, f := range flows {
		if f.Name == cmp.Or(name, DefaultFlow) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: there are %s and %s", ErrUnknownFlow, DefaultFlow, ListReportFlow)
}

// flowOf is the flow that an asset's tickets follow.
func flowOf(a Asset) *Flow {
	if a.IsReport() {
		return ListReport
	}
	return AssetInference
}

// Takes says why no ticket of an asset can follow the flow, or is nil. Its error is an ErrInvalidAsset.
func (f *Flow) Takes(a Asset) error {
	switch {
	case f != ListReport && a.IsReport():
		return fmt.Errorf("%w: what begins with %s is a list's report: its flow is %s", ErrInvalidAsset, assets.ReportPrefix, ListReportFlow)
	case f == ListReport && !a.IsReport():
		return fmt.Errorf("%w: %s is for assets that begin with %s: leave flow out for any other", ErrInvalidAsset, ListReportFlow, assets.ReportPrefix)
	case f == ListReport:
		_, err := ReportAsset(a.ReportName())
		return err
	}
	return nil
}

// Next is what may come next in a state, in the order of the flow.
func (f *Flow) Next(from State) []Next {
	next := []Next{}
	for _, a := range f.arrows {
		if a.from != from {
			continue
		}
		if n := len(next); n > 0 && next[n-1].Step == a.by {
			next[n-1].States = append(next[n-1].States, a.to)
			continue
		}
		next = append(next, Next{a.by, []State{a.to}})
	}
	return next
}

// Steps are the names of the steps, without notify and finish.
func (f *Flow) Steps() []string {
	var steps []string
	for _, a := range f.arrows {
		if a.by != NotifyCall && a.by != FinishCall && !slices.Contains(steps, a.by) {
			steps = append(steps, a.by)
		}
	}
	return steps
}

// CheckStep is nil for a step of the flow; more are other names that are good too.
func (f *Flow) CheckStep(step string, more ...string) error {
	known := append(f.Steps(), more...)
	if slices.Contains(known, step) {
		return nil
	}
	return &UnknownStepError{f.Name, known}
}

// from lists the states from which an arrow by that name leads to a state.
func (f *Flow) from(by string, to State) []State {
	var set []State
	for _, a := range f.arrows {
		if a.by == by && a.to == to {
			set = append(set, a.from)
		}
	}
	return set
}

// risk is what a step says of the risk, as it stands on the ticket: of the step that may lead to HIGH_RISK_FOUND '1' or '0', of every
// other nothing. Facts with high_risk true are of a high risk, too, wherever the step leads: people may have been told before.
func (f *Flow) risk(step string, to State, facts json.RawMessage) string {
	if len(f.from(step, HighRiskFound)) == 0 {
		return ""
	}
	var said struct {
		HighRisk any `json:"high_risk"`
	}
	_ = json.Unmarshal(facts, &said) // facts are an object, checked before
	return flag(to == HighRiskFound || said.HighRisk == true)
}

// Final reports whether nothing is left to be done in a state, in whatever flow.
func Final(s State) bool { return s == Finished || s == Failed }

// failable are the states from which a final failure leads to FAILED: all but the terminal ones and NOTIFYING.
func (f *Flow) failable() []State { return without(f.open(), Notifying) }

// open are the states that are not terminal.
func (f *Flow) open() []State {
	set := []State{Notified}
	for _, a := range f.arrows {
		if !slices.Contains(set, a.from) {
			set = append(set, a.from)
		}
	}
	return set
}

// openStates are those of all flows that are not terminal.
func openStates() []State {
	var set []State
	for _, f := range flows {
		for _, s := range f.open() {
			if !slices.Contains(set, s) {
				set = append(set, s)
			}
		}
	}
	return set
}

func without(states []State, one State) []State {
	return slices.DeleteFunc(slices.Clone(states), func(s State) bool { return s == one })
}
