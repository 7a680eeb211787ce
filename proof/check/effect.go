// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// effect is what becomes of a register by an op, if it can be answered as it was; else nothing. Of an op whose answer is not known it is
// what becomes of it if it is accepted.
func (m *model) effect(r register, o *op) []register {
	switch o.kind {
	case toSee:
		return []register{r}
	case toClaim:
		return grantTo(r, o)
	case toBreak:
		return fenceOff(r, o)
	case toReopen:
		return reopen(r, o)
	case toRetry, toDiscard, toSettle:
		return m.decide(r, o)
	}
	after, code, replayed := m.write(r, o)
	switch {
	case m.relaxed == "G5" && o.kind == toStep && oneOf(code, "", "STEP_CONFLICT") && oneOf(o.code, "", "STEP_CONFLICT"):
		return []register{r, recorded(r, o)}
	case m.relaxed == "G5" && o.kind == toFail && code == "" && o.code == "":
		twice := after
		twice.count++
		return []register{after, twice}
	case m.relaxed == "G2" && o.code == "STALE_TOKEN" && code == "": // it was refused as stale, and done
		return []register{after}
	}
	if o.maybe {
		if code != "" {
			return nil
		}
		return []register{after}
	}
	// A call of which Redis was asked twice, because its first answer was lost, may say of itself that it was recorded before.
	if code != o.code || replayed && !o.replayed || o.at != "" && o.at != r.state {
		return nil
	}
	return []register{after}
}

// grantTo: the newest grant is another. A ticket that is not there is made.
func grantTo(r register, o *op) []register {
	switch {
	case o.other:
		r.holder, r.mine = 0, false
		return []register{r}
	case o.adopted:
		r = o.view.register()
	case terminal(r.state):
		return nil
	case !r.exists:
		r = register{exists: true, state: initial, run: 1}
	}
	r.token, r.holder, r.mine = o.token, max(o.token, 0), true
	return []register{r}
}

// fenceOff: an administrator takes the asset from who held it when he was asked. Who was granted it meanwhile keeps it.
func fenceOff(r register, o *op) []register {
	after := r
	after.holder, after.mine = 0, false
	if r.holder == 0 || r.holder > o.before {
		return []register{after, r}
	}
	return []register{after}
}

// reopen begins a new run. If the newest grant is for this ticket, nobody has it any more.
func reopen(r register, o *op) []register {
	switch {
	case o.code == "TICKET_NOT_FOUND":
		return only(r, !r.exists)
	case o.code != "":
		return only(r, r.exists && !terminal(r.state) && (o.at == "" || o.at == r.state))
	case !r.exists || !terminal(r.state):
		return nil
	}
	after := register{
		holder: r.holder, mine: r.mine, exists: true, state: initial, run: r.run, token: r.token,
	}
	if r.run != unsaid {
		after.run++
	}
	if r.mine {
		after.holder, after.mine, after.token = 0, false, unsaid
	}
	return []register{after}
}

// decide: an administrator says what is to become of a notification, or what became of it.
func (m *model) decide(r register, o *op) []register {
	if o.code != "" {
		return []register{r}
	}
	if r.told == "" || r.state != notifying && r.state != failed {
		return only(r, m.losses > 0) // it is about what an outbox keeps of what Redis lost
	}
	if o.kind == toRetry {
		r.state, r.failed, r.count = notifying, "", 0
		return []register{r}
	}
	all := []register{r}
	for _, state := range []string{notifying, notified, finished, failed} {
		if state != r.state {
			after := r
			after.state = state
			all = append(all, after)
		}
	}
	return all
}

func oneOf(code string, codes ...string) bool { return slices.Contains(codes, code) }

func only(r register, such bool) []register {
	if such {
		return []register{r}
	}
	return nil
}

// write is what a claim's write does, and how it is answered.
func (m *model) write(r register, o *op) (after register, code string, replayed bool) {
	if r.holder != o.token && m.relaxed != "G2" {
		return r, "STALE_TOKEN", false
	}
	switch o.kind {
	case toStep:
		return once(r, o)
	case toFail:
		if !r.exists || terminal(r.state) || o.final && r.state == notifying {
			return r, "ILLEGAL_TRANSITION", false
		}
		if r.failed != o.name {
			r.failed, r.count = o.name, 0
		}
		r.count++
		if o.final {
			r.state = failed
		}
		return r, "", false
	case toNotify:
		switch {
		case r.told != "" && r.told != o.words && r.teller == o.token:
			return r, "CONTENT_CONFLICT", false
		case r.told != "":
			return r, "", true
		case !leads(r.state, "notify", notifying):
			return r, "ILLEGAL_TRANSITION", false
		}
		r.state, r.told, r.teller = notifying, o.words, o.token
		if r.failed == "notify" {
			r.failed, r.count = "", 0
		}
		return r, "", false
	case toFinish:
		if r.state != finished && !leads(r.state, "finish", finished) {
			return r, "ILLEGAL_TRANSITION", false
		}
		if r.state != notifying {
			r.state = finished
		}
		return r, "", false
	}
	panic("no write: " + o.kind)
}

// once records a step, once. It may be recorded otherwise where the flow leads by it to another state than the present one.
func once(r register, o *op) (after register, code string, replayed bool) {
	was := r.steps[o.step]
	if strings.HasPrefix(was, o.result+" ") {
		return r, "", true
	}
	legal := leads(r.state, o.name, o.to)
	if was != "" && (!legal || r.state == o.to) {
		return r, "STEP_CONFLICT", false
	}
	if !legal {
		return r, "ILLEGAL_TRANSITION", false
	}
	return recorded(r, o), "", false
}

func recorded(r register, o *op) register {
	r.state = o.to
	r.steps[o.step] = record(o.result, o.token)
	if r.failed == o.name {
		r.failed, r.count = "", 0
	}
	return r
}
