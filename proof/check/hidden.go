// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// recalled are the histories of tickets as they were read last.
func (s *story) recalled() map[string]*call {
	all := map[string]*call{}
	for _, c := range s.calls {
		if c.kind == toHistory && c.ok() {
			all[c.ticket()] = c
		}
	}
	return all
}

// hidden adds the grants that no answer told of: those of picket exec, and those that came of a claim whose answer was lost. Of the second
// nobody knows more than that they may be; but where Redis kept all data, the tickets' histories name each one. (G12)
func (b *builder) hidden() {
	asset, _, _ := strings.Cut(b.ticket, "/")
	for _, g := range b.byAsset[asset] {
		if g.claimed == nil {
			b.add(&op{kind: toClaim, begin: g.sent, end: g.came, token: g.token, other: g.ticket() != b.ticket})
		}
	}
	if slices.ContainsFunc(b.faults, func(f *fault) bool { return f.loses }) || !b.complete(asset) {
		return
	}
	b.all = slices.DeleteFunc(b.all, func(o *op) bool { return o.kind == toClaim && o.token == unsaid })
	for ticket, c := range b.histories {
		if c.asset != asset {
			continue
		}
		for _, e := range c.out.Events {
			if e.Event == "claimed" && !slices.ContainsFunc(b.byAsset[asset], func(g *grant) bool { return g.token == e.Token }) {
				o := &op{kind: toClaim, begin: b.asked(ticket, e.Host), token: e.Token, other: ticket != b.ticket}
				_, o.end = b.between(asset, e.Token)
				b.add(o)
			}
		}
	}
	for _, o := range b.all {
		if o.maybe && slices.Contains([]string{toStep, toFail, toNotify, toFinish}, o.kind) {
			_, o.end = b.between(asset, o.token)
			o.end = max(o.end, o.begin)
		}
	}
}

// complete: was the history of each ticket of the asset read?
func (s *story) complete(asset string) bool {
	for _, c := range s.calls {
		if c.asset == asset && c.task != "" && c.kind == toClaim && (c.ok() || c.unknown()) && s.histories[c.ticket()] == nil {
			return false
		}
	}
	return true
}

// asked is when a host was first asked for a claim on a ticket without an answer; 0: never, or not by a call.
func (s *story) asked(ticket, host string) int64 {
	for _, c := range s.calls {
		if c.kind == toClaim && c.unknown() && c.host == host && c.ticket() == ticket {
			return c.sent
		}
	}
	return 0
}

// between is when a token can have been the newest of its asset, where tokens only grow.
func (s *story) between(asset string, token int64) (from, to int64) {
	to = never
	for _, g := range s.byAsset[asset] {
		if g.token > token {
			to = min(to, g.came)
		} else if g.token < token {
			from = max(from, g.sent)
		}
	}
	return from, to
}

// unseen: is the ticket claimed by those whose claims are not in the history? Those of picket run never are. Those of picket exec are known
// by their commands, and, where Redis kept all data, by the tickets' histories.
func (s *story) unseen(ops []*op) bool {
	claimed := func(o *op) bool { return o.kind == toClaim && !o.other && (o.call != nil || o.begin > 0) }
	lossy := slices.ContainsFunc(s.faults, func(f *fault) bool { return f.loses })
	return !slices.ContainsFunc(ops, claimed) || lossy && slices.ContainsFunc(ops, func(o *op) bool { return o.kind == toClaim && o.call == nil })
}
