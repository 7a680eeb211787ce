// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"fmt"
	"slices"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// check looks at what was seen and recorded.
func (c *chaos) check(t *testing.T, cl *client.Client) {
	t.Helper()
	recorded := map[written]int{}
	tickets, hosts := 0, map[string]bool{}
	for i := range c.tasks {
		var grants, writes []client.Event // on the asset, whatever the task
		for n := range c.tasks[i].Load() + 1 {
			task := fmt.Sprintf("t%d", n)
			ticket, err := cl.Ticket(t.Context(), chaosAsset(i), task)
			if err != nil {
				continue // nobody came that far
			}
			tickets++
			history, err := cl.History(t.Context(), chaosAsset(i), task)
			if err != nil {
				t.Fatal(err)
			}
			checkHistory(t, ticket, history.Events)
			for _, e := range history.Events {
				hosts[e.Host] = true
				switch e.Event {
				case "claimed":
					grants = append(grants, e)
				case "step", "failure":
					recorded[written{ticket.ID, e.Event, e.Step, e.Token}]++
					writes = append(writes, e)
				case "failed", "finished":
					writes = append(writes, e)
				}
			}
		}
		checkGrants(t, grants, writes)
		checkTrusts(t, c.trusts[chaosAsset(i)])
	}
	for _, w := range c.writes {
		if recorded[w] == 0 {
			t.Errorf("accepted, and not recorded: %+v", w)
		}
	}
	t.Logf("%d tickets on %d hosts, %d writes accepted, %d agents told that their claim is lost", tickets, len(hosts), len(c.writes), c.refused)
	if len(c.writes) == 0 || len(hosts) < 3 {
		t.Error("too little happened to tell anything")
	}
}

// checkHistory: the events of a ticket follow each other without a gap, each write carries the newest token, and each step is
// recorded once, but for an asset that was offline and comes online.
func checkHistory(t *testing.T, ticket client.Ticket, events []client.Event) {
	t.Helper()
	state, token := "", int64(0)
	steps := map[string]int{}
	for i, e := range events {
		if e.Seq != int64(i+1) || e.From != state {
			t.Errorf("%s: event %d is %+v, after state %q", ticket.ID, i+1, e, state)
		}
		state = e.To
		switch e.Event {
		case "claimed":
			if e.Token <= token {
				t.Errorf("%s: token %d is granted after %d", ticket.ID, e.Token, token)
			}
			token = e.Token
		case "step", "failure", "failed", "finished":
			if e.Token != token {
				t.Errorf("%s: event %d is written under token %d, and the newest is %d", ticket.ID, e.Seq, e.Token, token)
			}
		}
		if e.Event == "step" {
			steps[e.Step+" "+e.To]++
		}
	}
	for step, n := range steps {
		if n > 1 {
			t.Errorf("%s: %s is recorded %d times", ticket.ID, step, n)
		}
	}
	if state != ticket.State || token != ticket.Token {
		t.Errorf("%s: the history ends in %s with token %d, the ticket is in %s with %d", ticket.ID, state, token, ticket.State, ticket.Token)
	}
}

// checkGrants: over all tasks of an asset, in the order of Redis' clock, tokens grow, and nothing is written under one when another
// has been granted.
func checkGrants(t *testing.T, grants, writes []client.Event) {
	t.Helper()
	slices.SortStableFunc(grants, func(a, b client.Event) int { return a.At.Compare(b.At) })
	for i, g := range grants {
		if i > 0 && g.At.After(grants[i-1].At) && g.Token <= grants[i-1].Token {
			t.Errorf("token %d is granted after %d", g.Token, grants[i-1].Token)
		}
		for _, w := range writes {
			if w.Token < g.Token && w.At.After(g.At) {
				t.Errorf("%+v is written after token %d was granted", w, g.Token)
			}
		}
	}
}

// checkTrusts: while one claim on an asset was trusted, no other was.
func checkTrusts(t *testing.T, all []trust) {
	t.Helper()
	slices.SortFunc(all, func(a, b trust) int { return a.begin.Compare(b.begin) })
	for i, one := range all {
		for _, other := range all[i+1:] {
			if !other.begin.Before(one.till) {
				break
			}
			if other.token != one.token {
				t.Errorf("the claim with token %d was trusted from %s to %s, that with %d from %s", one.token, one.begin, one.till,
					other.token, other.begin)
			}
		}
	}
}
