// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import "strconv"

// register is what a ticket is, and whose the newest grant of its asset is. It is comparable.
type register struct {
	holder int64 // the token of the newest grant, if that is for this ticket; 0: it is another's, nobody's, or one of which nobody was told
	mine   bool  // the newest grant is for this ticket

	exists bool
	state  string
	run    int64
	token  int64 // of the newest claim on the ticket
	steps  [5]string
	failed string // the step of the last failure
	count  int64  // how often it failed in a row
	told   string // what people are told
	teller int64  // the token of the claim that said so
}

// unsaid stands for a run or a token that no answer has told yet.
const unsaid = -1

// view is what an answer tells of a ticket. A step's is what a register's is.
type view struct {
	exists bool
	state  string
	run    int64
	brief  bool // nothing else is told
	token  int64
	steps  [5]string
	failed string
	count  int64
	told   string
}

// op is what happens to a register: a call, or a fault that loses data.
type op struct {
	kind  string
	call  *call // nil: none
	begin int64
	end   int64
	maybe bool // it may have done nothing, and no answer tells

	token   int64  // of the writer's claim, or the one that is granted; unsaid: a grant of which nobody was told
	other   bool   // a grant for another ticket of the asset
	adopted bool   // a grant before which others wrote of whom nothing is recorded: the ticket is as the view tells
	ordered bool   // a grant after which none with a smaller token comes
	before  int64  // of a break: the newest token that had been told when it was asked for
	step    int    // its place among steps; -1: none
	name    string // the step's
	to      string
	result  string // a step's state and facts
	final   bool
	words   string // what people are to be told

	code     string // of a refusal; empty: accepted
	replayed bool
	at       string // the state that a refusal tells; empty: none
	view     *view  // what the answer tells of the ticket afterwards; nil: nothing
}

// sameAs: do two ops that need not have happened do the same?
func (o *op) sameAs(other *op) bool {
	bare := func(o op) op {
		o.call, o.begin, o.end, o.view = nil, 0, 0, nil
		return o
	}
	return o.maybe && bare(*o) == bare(*other)
}

// What an op that is no call does.
const (
	toLose = "lose" // any register of before, or none, may be there again
	toSee  = "see"  // only what the view tells
)

// of is a register that is as the view tells.
func (v *view) of(r register) (register, bool) {
	if v.exists != r.exists || v.state != r.state && r.exists {
		return r, false
	}
	if !r.exists {
		return r, true
	}
	if r.run == unsaid {
		r.run = v.run
	}
	if v.brief {
		return r, v.run == r.run
	}
	if r.token == unsaid {
		r.token = v.token
	}
	return r, v.run == r.run && v.token == r.token && v.steps == r.steps && v.told == r.told && v.failed == r.failed && v.count == r.count
}

// register is one that is as the view tells, of which the newest grant is for another ticket.
func (v *view) register() register {
	return register{exists: v.exists, state: v.state, run: v.run, steps: v.steps, failed: v.failed, count: v.count, told: v.told}
}

// record is how a step stands in a register.
func record(result string, token int64) string {
	return result + " " + strconv.FormatInt(token, 10)
}
