// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
	"time"
)

// recalled are the histories of tickets as they were read last; of one that is gone, that it is.
func (s *story) recalled() map[string]*call {
	all := map[string]*call{}
	for _, c := range s.calls {
		if c.kind == toHistory && (c.ok() || c.code == "TICKET_NOT_FOUND") {
			all[c.ticket()] = c
		}
	}
	return all
}

// hidden adds the grants that no answer told of: those of picket exec, and those that came of a claim whose answer was lost. The tickets'
// histories name each of these that came after the last loss of data, and the audit each one, unless its daemon was killed or got no
// answer either. (G12)
func (b *builder) hidden() {
	asset, _, _ := strings.Cut(b.ticket, "/")
	for _, g := range b.byAsset[asset] {
		if g.claimed == nil {
			b.add(&op{kind: toClaim, begin: g.sent, end: g.came, token: g.token, other: g.ticket() != b.ticket})
		}
	}
	kept := b.faults.kept() // from then on
	if kept == never || !b.complete(asset) {
		return
	}
	b.all = slices.DeleteFunc(b.all, func(o *op) bool {
		if o.kind != toClaim || o.token != unsaid {
			return false
		}
		o.end = kept
		return o.begin >= kept || !b.unaudited(o.call)
	})
	for _, p := range b.processes {
		if one := (&call{host: p.Host, asset: canonical(p.Asset), task: p.Task, sent: p.at}); b.untold(p) && one.asset == asset && p.at < kept && b.unaudited(one) {
			b.add(&op{kind: toClaim, begin: p.at, end: kept, token: unsaid, other: one.ticket() != b.ticket, maybe: true})
		}
	}
	for token, n := range b.named(asset) {
		b.add(&op{kind: toClaim, begin: n.from, end: never, token: token, other: n.ticket != b.ticket, maybe: kept > 0})
	}
	for _, o := range b.all {
		if o.maybe && slices.Contains([]string{toStep, toFail, toNotify, toFinish}, o.kind) {
			o.end = max(b.passed(asset, o.token, kept), o.begin)
		}
	}
}

// bound says of each grant whose token is known when it can have been made at most, as those tell that were asked for or told of with other
// tokens: tokens only grow, unless Redis loses data and its clock is set. (G3)
func (b *builder) bound(asset string) {
	if b.faults.lost(0, never) && b.faults.stepped(0, never) {
		return
	}
	for _, o := range b.all {
		if o.kind != toClaim || o.token <= 0 {
			continue
		}
		o.ordered = true
		for _, g := range b.byAsset[asset] {
			switch {
			case g.token < o.token:
				o.begin = max(o.begin, g.sent)
			case g.token > o.token:
				o.end = min(o.end, g.came)
			}
		}
		for _, a := range b.audits {
			if f := a.Fields; f["PICKET_EVENT"] == "claimed" && f["PICKET_ASSET"] == asset && a.token() == o.token {
				o.end = min(o.end, a.at)
			}
		}
		o.end = max(o.end, o.begin)
	}
}

// listed is how the assets begin that picket run works on, whose calls are not recorded.
const listed = "run-"

// adopt leaves out of a ticket's ops all that came before the first claim that is known, from which on nobody else wrote.
func (b *builder) adopt(asset string) {
	from, token := b.faults.kept(), int64(0)
	for other, n := range b.named(asset) {
		if n.ticket == b.ticket {
			token = max(token, other)
		}
	}
	first := slices.IndexFunc(b.all, func(o *op) bool {
		return o.kind == toClaim && !o.other && o.view != nil && o.token > token && o.begin > from
	})
	if first < 0 {
		b.all = nil
		return
	}
	claim := b.all[first]
	claim.adopted = true
	b.all = slices.DeleteFunc(b.all, func(o *op) bool { return o != claim && o.begin <= claim.begin })
}

// named is a grant that is told of by no answer.
type named struct {
	ticket string
	from   int64 // since when it may have been
}

// named are the grants of an asset that only a history or the audit names, by their tokens.
func (s *story) named(asset string) map[int64]named {
	all := map[int64]named{}
	note := func(ticket, host string, token int64) {
		if !slices.ContainsFunc(s.byAsset[asset], func(g *grant) bool { return g.token == token }) {
			all[token] = named{ticket, s.asked(ticket, host)}
		}
	}
	for ticket, c := range s.histories {
		for _, e := range c.out.Events {
			if c.asset == asset && e.Event == "claimed" {
				note(ticket, e.Host, e.Token)
			}
		}
	}
	for _, a := range s.audits {
		if f := a.Fields; f["PICKET_EVENT"] == "claimed" && f["PICKET_ASSET"] == asset {
			note(f["PICKET_TICKET"], a.Host, a.token())
		}
	}
	return all
}

// untold: is it a picket exec whose command did not begin? It may have been granted its claim all the same.
func (s *story) untold(p process) bool {
	return p.Kind == "exec" && !p.End && !slices.ContainsFunc(s.byAsset[canonical(p.Asset)], func(g *grant) bool {
		return g.command != 0 && g.holder == p.PID && g.host == p.Host
	})
}

// unaudited: may a claim that got no answer have been granted without a record in the audit that names the grant?
func (s *story) unaudited(c *call) bool {
	return s.faults.crashed(c.host, c.sent, c.sent+int64(20*time.Second)) || slices.ContainsFunc(s.audits, func(a auditRecord) bool {
		return a.Host == c.host && a.Fields["PICKET_EVENT"] == "unconfirmed" && a.Fields["PICKET_TICKET"] == c.ticket() && a.Fields["PICKET_CALL"] == "claim"
	})
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

// passed is from when on a token is no more the newest of its asset, as a grant tells that came when nothing was lost any more.
func (s *story) passed(asset string, token, kept int64) int64 {
	to := int64(never)
	for _, g := range s.byAsset[asset] {
		if g.token > token && g.sent >= kept {
			to = min(to, g.came)
		}
	}
	return to
}

// unseen: is the ticket claimed by those whose claims are not in the history? Those of picket exec are known by their commands, and by the
// tickets' histories and the audit.
func (s *story) unseen(ops []*op) bool {
	claimed := func(o *op) bool { return o.kind == toClaim && !o.other && (o.call != nil || o.begin > 0) }
	return !slices.ContainsFunc(ops, claimed) || s.faults.kept() == never && slices.ContainsFunc(ops, func(o *op) bool { return o.kind == toClaim && o.call == nil })
}
