// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// State is a state of a flow.
type State string

// The states of the flow asset-inference.
const (
	Init          State = "INIT"
	AssetOnline   State = "ASSET_ONLINE"
	AssetOffline  State = "ASSET_OFFLINE"
	VulnCheckDone State = "VULN_CHECK_DONE"
	HighRiskFound State = "HIGH_RISK_FOUND"
	Notifying     State = "NOTIFYING"
	Notified      State = "NOTIFIED"
	Finished      State = "FINISHED"
	Failed        State = "FAILED"
)

// The names of the two calls that stand beside the steps in Next.
const (
	notifyCall = "notify"
	finishCall = "finish"
)

// DefaultFlow is the flow of a claim that names none.
const DefaultFlow = "asset-inference"

// Flow is the state machine that a ticket follows. Its arrows are what agents may do; NOTIFYING is left by delivery alone,
// which no arrow shows.
type Flow struct {
	Name     string
	Initial  State
	Terminal []State
	arrows   []arrow
}

type arrow struct {
	from State
	by   string // a step, or notify or finish
	to   State
}

var assetInference = &Flow{
	Name:     DefaultFlow,
	Initial:  Init,
	Terminal: []State{Finished, Failed},
	arrows: []arrow{
		{Init, "online", AssetOnline},
		{Init, "online", AssetOffline},
		{AssetOffline, "online", AssetOnline},
		{AssetOffline, finishCall, Finished},
		{AssetOnline, "vuln", VulnCheckDone},
		{VulnCheckDone, "intel", VulnCheckDone},
		{VulnCheckDone, "assess", HighRiskFound},
		{VulnCheckDone, "assess", Finished},
		{VulnCheckDone, finishCall, Finished},
		{HighRiskFound, notifyCall, Notifying},
		{Notifying, finishCall, Finished},
		{Notified, finishCall, Finished},
	},
}

// LookupFlow returns a flow by name, the built-in one for "", or ErrUnknownFlow.
func LookupFlow(name string) (*Flow, error) {
	if name == "" || name == DefaultFlow {
		return assetInference, nil
	}
	return nil, fmt.Errorf("%w: the only flow is %s", ErrUnknownFlow, DefaultFlow)
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
		if a.by != notifyCall && a.by != finishCall && !slices.Contains(steps, a.by) {
			steps = append(steps, a.by)
		}
	}
	return steps
}

// checkStep is nil for a step of the flow; more are other names that are good too.
func (f *Flow) checkStep(step string, more ...string) error {
	known := append(f.Steps(), more...)
	if slices.Contains(known, step) {
		return nil
	}
	return &UnknownStepError{f.Name, known}
}

// from lists the states from which an arrow by that name leads to a state.
func (f *Flow) from(by string, to State) stateSet {
	var set stateSet
	for _, a := range f.arrows {
		if a.by == by && a.to == to {
			set = append(set, a.from)
		}
	}
	return set
}

func (f *Flow) terminal(s State) bool { return slices.Contains(f.Terminal, s) }

// failable are the states from which a final failure leads to FAILED: all but the terminal ones and NOTIFYING.
func (f *Flow) failable() stateSet {
	var set stateSet
	for _, s := range f.open() {
		if s != Notifying {
			set = append(set, s)
		}
	}
	return set
}

// open are the states that are not terminal.
func (f *Flow) open() stateSet {
	set := stateSet{Notified}
	for _, a := range f.arrows {
		if !slices.Contains(set, a.from) {
			set = append(set, a.from)
		}
	}
	return set
}

// stateSet goes to a script as ",A,B,", so that a state is looked for with its commas.
type stateSet []State

func (s stateSet) without(state State) stateSet {
	return slices.DeleteFunc(slices.Clone(s), func(t State) bool { return t == state })
}

func (s stateSet) String() string {
	var b strings.Builder
	b.WriteByte(',')
	for _, state := range s {
		b.WriteString(string(state))
		b.WriteByte(',')
	}
	return b.String()
}
