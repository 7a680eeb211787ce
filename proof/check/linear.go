// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is for how long one register is searched for an order in which its answers are right.
const patience = 10 * time.Second

// verdict is what a search came to.
type verdict int

const (
	givenUp     verdict = iota // nobody knows
	explained                  // there is an order in which each op can have been answered as it was
	unexplained                // there is none
)

// explain looks for an order of the ops in which each can have been answered as it was. relaxed is a guarantee that is not demanded. It is
// porcupine that looks, but where data may be lost: there a register goes back to what it was in any order, which is no step of a model.
func explain(ops []*op, relaxed string) verdict {
	if !slices.ContainsFunc(ops, func(o *op) bool { return o.kind == toLose }) {
		if said := linearizable(ops, relaxed); said != givenUp {
			return said
		}
	}
	return search(ops, relaxed)
}

// linearizable is what porcupine says of ops without losses.
func linearizable(ops []*op, relaxed string) verdict {
	m, seed := newModel(relaxed), maphash.MakeSeed()
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, _ any) (all []any) {
			if input.(*op).maybe {
				all = append(all, state)
			}
			for _, r := range m.step(state.(register), input.(*op)) {
				all = append(all, r)
			}
			return all
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(register)) },
	}
	var all []porcupine.Operation
	for _, o := range ops {
		all = append(all, porcupine.Operation{Input: o, Call: o.begin, Return: o.end})
	}
	said := porcupine.CheckOperationsTimeout(model.ToModel(), all, patience)
	return map[porcupine.CheckResult]verdict{porcupine.Ok: explained, porcupine.Illegal: unexplained}[said]
}
