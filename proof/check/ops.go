// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"slices"
	"strings"
)

// ops are what happened to a ticket's register, in the order in which it was asked for.
func (s *story) ops(ticket string) []*op {
	asset, _, _ := strings.Cut(ticket, "/")
	b := &builder{story: s, ticket: ticket, ends: map[string]*op{}, minted: map[string]bool{}}
	for _, c := range s.calls {
		switch {
		case c.asset == asset && (c.kind == toClaim || c.kind == toBreak):
			b.claims(c)
		case c.kind == toStates:
			b.states(c)
		case c.ticket() == ticket:
			b.own(c)
		}
	}
	b.hidden()
	b.bound(asset)
	if strings.HasPrefix(asset, listed) {
		b.adopt(asset)
	}
	b.losses()
	return b.lasting()
}

// builder collects the ops of a ticket.
type builder struct {
	*story
	ticket string
	all    []*op
	ends   map[string]*op  // by claim: the finish that ended it, or may have
	minted map[string]bool // the claims whose grant is among the ops
}

func (b *builder) add(o *op) { b.all = append(b.all, o) }

// claims adds what is asked of the asset: claims for all of its tickets, and broken locks.
func (b *builder) claims(c *call) {
	o := &op{kind: c.kind, call: c, begin: c.sent, end: c.came, other: c.ticket() != b.ticket, token: unsaid}
	switch {
	case c.kind == toBreak && (c.ok() || c.unknown()):
		o.maybe, o.before = !c.ok(), b.granted(c.asset, c.sent)
		if o.maybe {
			o.end = never
		}
		b.add(o)
	case c.kind == toBreak:
	case c.ok() && c.out.Claim == nil:
		b.see(c)
	case c.ok():
		g := b.byClaim[c.out.Claim.ID]
		if b.minted[g.id] {
			if !o.other {
				b.see(c)
			}
			return
		}
		b.minted[g.id] = true
		o.call, o.begin, o.end, o.token = g.claimed, g.sent, g.came, g.token
		if !o.other && g.sent == g.claimed.sent {
			o.view = viewOf(g.claimed.out.Ticket)
		} else if !o.other {
			b.see(g.claimed)
		}
		b.add(o)
	case c.unknown() && !b.again(c):
		o.maybe, o.end = true, never
		b.add(o)
	}
}

// again: was the claim asked for again under the same name, and answered? Then that answer tells of it.
func (b *builder) again(c *call) bool {
	return c.in.Request != "" && slices.ContainsFunc(b.byAsset[c.asset], func(g *grant) bool {
		return g.claimed != nil && g.claimed.in.Request == c.in.Request && g.host == c.host && g.ticket() == c.ticket()
	})
}

// granted is the newest token of an asset of which somebody had been told at a time.
func (b *builder) granted(asset string, at int64) (token int64) {
	for _, g := range b.grants {
		if g.asset == asset && g.came < at {
			token = max(token, g.token)
		}
	}
	return token
}

// see adds what a call tells of the ticket as something that was so at a time while it lasted.
func (b *builder) see(c *call) {
	if c.ok() && c.out.Ticket != nil && c.out.Ticket.ID == b.ticket {
		b.add(&op{kind: toSee, call: c, begin: c.sent, end: c.came, view: viewOf(c.out.Ticket)})
	}
}

func (b *builder) states(c *call) {
	at, asked := c.out.States[b.ticket]
	if !c.ok() || !asked {
		return
	}
	v := &view{brief: true}
	if at != nil {
		v.exists, v.state, v.run = true, at.State, at.Run
	}
	b.add(&op{kind: toSee, call: c, begin: c.sent, end: c.came, view: v})
}

// own adds what is asked of the ticket itself.
func (b *builder) own(c *call) {
	o := &op{kind: c.kind, call: c, begin: c.sent, end: c.came, maybe: c.unknown(), code: c.code, at: c.out.State}
	if o.maybe {
		o.end, o.code, o.at = never, "", ""
	}
	if g := b.byClaim[c.claimID]; g != nil {
		o.token = g.token
	}
	switch c.kind {
	case toRead:
		if c.code == "TICKET_NOT_FOUND" {
			b.add(&op{kind: toSee, call: c, begin: c.sent, end: c.came, view: &view{}})
		}
		b.see(c)
		return
	case toReopen, toRetry, toDiscard, toSettle:
		if !o.maybe && !c.ok() && !slices.Contains([]string{"ILLEGAL_TRANSITION", "TICKET_NOT_FOUND"}, c.code) {
			return
		}
	case toStep, toFail, toNotify, toFinish:
		if !o.maybe && !c.ok() && !slices.Contains(decided, c.code) {
			return
		}
		b.write(c, o)
		return
	default:
		return
	}
	b.viewed(c, o)
}

// decided are the codes by which Redis itself refuses a write: whatever else is refused reached no register.
var decided = []string{"STALE_TOKEN", "STEP_CONFLICT", "CONTENT_CONFLICT", "ILLEGAL_TRANSITION", "TICKET_DAMAGED"}

// write adds a claim's write.
func (b *builder) write(c *call, o *op) {
	o.name, o.to, o.final, o.step = c.in.Step, c.in.State, c.in.Final, slices.Index(steps, c.in.Step)
	if o.code == "TICKET_DAMAGED" { // it is recorded all the same
		o.maybe, o.code = true, ""
	}
	o.replayed = c.out.Replayed
	switch {
	case c.kind == toStep && o.step < 0:
		return // there is no such step, whatever was answered: what it does is seen later
	case c.kind == toStep:
		o.result = c.in.State + " " + same(c.in.Facts)
	case c.kind == toNotify:
		o.words = words(c.in.told())
		b.see(c) // it may tell what became of it later
		b.add(o)
		return
	}
	if c.kind == toFinish || c.in.Finish {
		b.finish(c, o)
		return
	}
	b.viewed(c, o)
}

// viewed adds an op whose answer shows the ticket as it left it; or as it was a little later, when another had claimed it.
func (b *builder) viewed(c *call, o *op) {
	switch t := c.out.Ticket; {
	case t != nil && o.token > 0 && t.Token != o.token:
		b.see(c)
	case c.ok():
		o.view = viewOf(c.out.Ticket)
	}
	b.add(o)
}

// finish adds a write that ends its claim. When an earlier one got no answer, either may have ended it, and the later one is answered
// with the ticket as it is then.
func (b *builder) finish(c *call, o *op) {
	before := b.ends[c.claimID]
	switch {
	case before == nil || before.kind != o.kind:
		b.viewed(c, o)
		if o.maybe || c.ok() {
			b.ends[c.claimID] = o
		}
	case c.ok() && before.maybe:
		before.maybe, before.end, before.view = false, c.came, nil
		b.see(c)
	case c.ok():
		b.see(c)
	case !o.maybe:
		b.viewed(c, o)
	}
}

// losses adds the faults by which Redis may lose data. What was asked meanwhile may have been answered by a server whose data are
// lost: its answers tell nothing, and what it did may be undone.
func (b *builder) losses() {
	var losses []*op
	for _, f := range b.faults {
		if f.loses {
			losses = append(losses, &op{kind: toLose, begin: f.begin, end: min(f.end, b.story.end+1)})
		}
	}
	b.all = slices.DeleteFunc(b.all, func(o *op) bool {
		touched := slices.ContainsFunc(losses, func(l *op) bool { return o.begin <= l.end && l.begin <= o.end })
		if touched && !o.maybe && o.kind != toSee && o.code == "" {
			o.maybe = true
			return false
		}
		return touched && !o.maybe
	})
	b.all = append(b.all, losses...)
}

// lasting are the ops without those that cannot matter to the ticket: what came before its first or after its last, but for losses of what
// nobody recorded, and what became of the asset when nobody claimed this ticket or wrote to it any more.
func (b *builder) lasting() []*op {
	from, to, written := int64(never), int64(0), int64(0)
	for _, o := range b.all {
		if o.kind == toLose || o.other || o.kind == toBreak {
			continue
		}
		from = min(from, o.begin)
		if o.end != never {
			to = max(to, o.end)
		}
		if o.kind != toSee {
			written = max(written, o.end)
		}
	}
	all := slices.DeleteFunc(b.all, func(o *op) bool {
		return o.end < from && o.kind != toLose || o.begin > to || (o.other || o.kind == toBreak) && o.begin > written
	})
	slices.SortStableFunc(all, func(x, y *op) int { return int(min(max(x.begin-y.begin, -1), 1)) })
	return all
}

// viewOf is what an answer tells of a ticket; nil if it has none.
func viewOf(t *ticket) *view {
	if t == nil {
		return nil
	}
	v := &view{exists: true, state: t.State, run: t.Run, token: t.Token, told: words(t.Notification)}
	for i, name := range steps {
		if s, ok := t.Steps[name]; ok {
			v.steps[i] = record(s.State+" "+same(s.Facts), s.Token)
		}
	}
	if t.Failure != nil {
		v.failed, v.count = t.Failure.Step, t.Failure.Count
	}
	return v
}

// words are what people are told, in a form that can be compared.
func words(n *notification) string {
	if n == nil {
		return ""
	}
	return strings.Join([]string{n.Title, n.Text, n.Severity, same(n.Facts)}, "\x00")
}
