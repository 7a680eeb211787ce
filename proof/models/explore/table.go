// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package explore

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// Model is a design, or a mutation of one: what is it without one of its rules.
type Model struct {
	Name, What string
	Mutation   bool
	Explore    func() Result
}

// Design is a model that must hold.
func Design(name, what string, by func() Result) Model { return Model{name, what, false, by} }

// Mutation is one that must not: what says which rule it lacks.
func Mutation(name, what string, by func() Result) Model { return Model{name, what, true, by} }

// wrong reports whether a design failed, or a mutation was not caught.
func (m Model) wrong(r Result) bool { return m.Mutation != (len(r.Kinds) > 0) }

func (m Model) verdict(r Result) string {
	kinds := strings.Join(r.Kinds, ", ")
	switch {
	case m.Mutation && m.wrong(r):
		return "NOT CAUGHT"
	case m.Mutation:
		return "caught: " + kinds
	case m.wrong(r):
		return "FAILS: " + kinds
	}
	return "holds"
}

// Wrong explores all models and says what is wrong: a design that fails, a mutation that is not caught.
func Wrong(models []Model) (wrong []string) {
	for _, m := range models {
		if r := m.Explore(); m.wrong(r) {
			wrong = append(wrong, fmt.Sprintf("%s: %s %v", m.Name, m.verdict(r), r.Path))
		}
	}
	return wrong
}

// Main prints the models as a table, with the shortest path to each kind of violation, and exits with 1 if one is wrong. With -only NAME
// it explores that one.
func Main(models func() []Model) {
	only := flag.String("only", "", "explore this model alone")
	flag.Parse()
	wrong, ran, names := false, false, []string{}
	for _, m := range models() {
		names = append(names, m.Name)
		if *only != "" && *only != m.Name {
			continue
		}
		r := m.Explore()
		ran, wrong = true, wrong || m.wrong(r)
		fmt.Printf("%-18s %-66s %9d states %6.1fs  %s\n", m.Name, m.What, r.States, r.Took.Seconds(), m.verdict(r))
		for _, kind := range r.Kinds {
			fmt.Printf("    %s: %s\n", kind, r.Path[kind])
		}
	}
	if !ran {
		fmt.Println("there is no such model; there are:", strings.Join(names, " "))
	}
	if wrong || !ran {
		os.Exit(1)
	}
}
