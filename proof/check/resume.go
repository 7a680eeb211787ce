// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"fmt"
	"slices"
	"strings"
)

// resume looks whether a claim's answer has all that was recorded before, and what may come next. (G6)
func (c *checker) resume() {
	recorded := map[string][]*call{} // the calls for steps, by ticket and step
	for _, one := range c.calls {
		if one.kind == toStep && (one.ok() || one.unknown()) {
			key := one.ticket() + " " + one.in.Step
			recorded[key] = append(recorded[key], one)
		}
	}
	for _, one := range c.calls {
		if one.code == "TICKET_DAMAGED" && !c.faults.lost(0, one.came) {
			c.violate("G6", one.ticket(), one.records(), "a ticket is damaged though Redis lost nothing: %s", one)
		}
		t := one.out.Ticket
		if !one.ok() || t == nil {
			continue
		}
		if one.kind == toClaim || one.kind == toStep || one.kind == toFail {
			c.compareNext(one, t)
		}
		if one.kind != toClaim || one.out.Claim == nil {
			continue
		}
		for _, name := range steps {
			c.compareStep(one, name, recorded[t.ID+" "+name])
		}
	}
}

// lists looks whether a picket run that says that all is done has left nothing undone. (G6)
func (c *checker) lists() {
	began, ended := map[string]int64{}, map[string]process{} // by task: the last process
	for _, p := range c.processes {
		switch {
		case p.Kind != "run" || p.Task == "":
		case !p.End:
			began[p.Task+p.Host] = p.at
		case p.Detail == "exit status 0":
			ended[p.Task+p.Host] = p
		}
	}
	for _, one := range c.calls {
		undone := one.code == "TICKET_NOT_FOUND" || one.ok() && one.out.Ticket != nil && !terminal(one.out.Ticket.State)
		if one.kind != toRead || one.by != "final" || !strings.HasPrefix(one.asset, listed) || !undone {
			continue
		}
		for _, host := range c.setup.Hosts {
			p, done := ended[one.task+host]
			told := one.ok() && one.out.Ticket.State == notifying // its receivers have the last word
			if done && !told && !c.faults.lost(began[one.task+host], one.came) {
				c.violate("G6", one.ticket(), append([]int{p.n}, one.records()...), "picket run on %s says that all of %s is done, and this is not: %s", host, one.task, one)
			}
		}
	}
}

// compareStep holds a step of a claim's answer against those that were asked for.
func (c *checker) compareStep(claimed *call, name string, calls []*call) {
	t := claimed.out.Ticket
	has, there := t.Steps[name]
	known := false
	for _, s := range calls {
		same := has.State == s.in.State && same(has.Facts) == same(s.in.Facts)
		known = known || same
		done := s.ok() && s.out.Ticket != nil && s.out.Ticket.Run == t.Run && s.came < claimed.sent
		if done && !there && !c.faults.lost(s.sent, claimed.came) {
			c.violate("G6", t.ID, append(s.records(), claimed.records()...), "step %s was recorded, and the next claim does not get it: %s", name, claimed)
		}
	}
	if there && !known && len(calls) > 0 && !c.faults.lost(0, claimed.came) {
		c.violate("G6", t.ID, claimed.records(), "a claim gets a result of step %s that nobody recorded: %s", name, claimed)
	}
}

// compareNext holds what an answer says may come next against the flow.
func (c *checker) compareNext(one *call, t *ticket) {
	says := []string{}
	for _, n := range one.out.Next {
		if n.Step == "notify" || n.Step == "finish" {
			says = append(says, n.Step)
			continue
		}
		for _, state := range n.States {
			says = append(says, n.Step+" "+state)
		}
	}
	may := []string{}
	for _, a := range arrows {
		if a.from != t.State {
			continue
		}
		if a.by == "notify" || a.by == "finish" {
			may = append(may, a.by)
		} else {
			may = append(may, a.by+" "+a.to)
		}
	}
	if t.State == initial { // where the two flows meet
		says = slices.DeleteFunc(says, func(s string) bool { return s == "gather "+gathered })
		may = slices.DeleteFunc(may, func(s string) bool { return s == "gather "+gathered })
	}
	slices.Sort(says)
	slices.Sort(may)
	if !slices.Equal(says, may) {
		c.violate("G6", t.ID, one.records(), "in %s may come next %v, and the answer says %v", t.State, may, fmt.Sprint(says))
	}
}
