// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is for how long porcupine looks at one register.
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

// ranked is a register, and the greatest token among the grants that come in the order of their tokens.
type ranked struct {
	register
	greatest int64
}

// linearizable is what porcupine says of ops without losses.
func linearizable(ops []*op, relaxed string) verdict {
	m, seed := newModel(relaxed), maphash.MakeSeed()
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{ranked{}} },
		Step: func(state, input, _ any) (all []any) {
			now, o := state.(ranked), input.(*op)
			if o.maybe {
				all = append(all, now)
			}
			if o.ordered && now.greatest > o.token {
				return all
			}
			for _, r := range m.step(now.register, o) {
				next := ranked{r, now.greatest}
				if o.ordered {
					next.greatest = o.token
				}
				all = append(all, next)
			}
			return all
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(ranked)) },
	}
	return ask(model, ops)
}

// ask has porcupine look for an order.
func ask(model porcupine.NondeterministicModel, ops []*op) verdict {
	var all []porcupine.Operation
	for _, o := range ops {
		all = append(all, porcupine.Operation{Input: o, Call: o.begin, Return: o.end})
	}
	said := porcupine.CheckOperationsTimeout(model.ToModel(), all, patience)
	return map[porcupine.CheckResult]verdict{porcupine.Ok: explained, porcupine.Illegal: unexplained}[said]
}
