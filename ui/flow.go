// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/sockapi/client"
)

// place is where a state stands in the drawing of its flow: how deep in the flow, and in which lane beside its middle.
type place struct {
	state       string
	depth, lane int
}

// How an arrow is led from one state to another.
const (
	straight = iota
	across   // between two states of one depth
	bent     // to the next depth in another lane
	under    // along the last lane, past what lies between
	over     // along the first lane
)

// arrow leads from a state to another by a step.
type arrow struct {
	from, to, step string
	way            int
}

// The drawing of the flow asset-inference. That any state can fail is drawn where it happened.
var (
	inferencePlaces = []place{
		{client.StateInit, 0, 1},
		{client.StateAssetOnline, 1, 1},
		{client.StateAssetOffline, 1, 2},
		{client.StateVulnCheckDone, 2, 1},
		{client.StateHighRiskFound, 3, 1},
		{client.StateNotifying, 4, 1},
		{client.StateNotified, 5, 1},
		{client.StateFinished, 6, 1},
		{client.StateFailed, 6, 0},
	}
	inferenceArrows = []arrow{
		{client.StateInit, client.StateAssetOnline, client.StepOnline, straight},
		{client.StateInit, client.StateAssetOffline, "", bent},
		{client.StateAssetOffline, client.StateAssetOnline, "", across},
		{client.StateAssetOffline, client.StateFinished, client.CallFinish, under},
		{client.StateAssetOnline, client.StateVulnCheckDone, client.StepVuln, straight},
		{client.StateVulnCheckDone, client.StateHighRiskFound, client.StepAssess, straight},
		{client.StateVulnCheckDone, client.StateFinished, "", under},
		{client.StateHighRiskFound, client.StateNotifying, client.CallNotify, straight},
		{client.StateNotifying, client.StateNotified, "", straight},
		{client.StateNotifying, client.StateFailed, "", over},
		{client.StateNotified, client.StateFinished, "", straight},
	}
)

// drawing is a flow as a picture of so many pixels.
type drawing struct {
	Name       string // wide or narrow
	Wide, High int
	Boxes      []box
	Lines      []line // those that were taken last, so that they lie on top
	Says       string // the way that was taken
}

// box is a state. Kind is taken, now, refused or nothing; Below says when it was reached, and where.
type box struct {
	State, Kind, Below string
	X, Y, Wide, High   int
}

// MiddleX is where the middle of its texts is.
func (b box) MiddleX() int { return b.X + b.Wide/2 }

// TitleY is the line of its name.
func (b box) TitleY() int {
	if b.Below == "" {
		return b.Y + b.High/2 + 4
	}
	return b.Y + b.High/2 - 2
}

// BelowY is the line below its name.
func (b box) BelowY() int { return b.Y + b.High/2 + 12 }

// line is an arrow.
type line struct {
	Path, Label string
	Taken       bool
	X, Y        int // of the label
}

// sizes of a drawing, in pixels: half a box along the flow and across it, and from the middle of a box to that of the next.
type sizes struct {
	name                     string
	halfDeep, halfAcross     int
	perDepth, perLane, space int
	below                    int // how far below a line its label stands
}

var (
	wide   = sizes{"wide", 68, 22, 190, 78, 4, -7}
	narrow = sizes{"narrow", 20, 60, 78, 126, 2, 2}
)

// draw draws a ticket's flow, once for each of two shapes of window.
func draw(t client.Ticket, h client.History) []drawing {
	places, arrows := inferencePlaces, inferenceArrows
	way := wayOf(h.Events)
	if t.Flow != client.FlowAssetInference {
		places, arrows = chain(t, way)
	}
	for _, e := range way { // a failure, which can come anywhere
		if known := func(a arrow) bool { return a.from == e.From && a.to == e.To }; e.From != e.To && !slices.ContainsFunc(arrows, known) {
			arrows = append(slices.Clone(arrows), arrow{e.From, e.To, "", over})
		}
	}
	both := []drawing{wide.draw(t.State, places, arrows, way), narrow.draw(t.State, places, arrows, way)}
	for _, d := range both {
		d.refuse(h.Refused)
	}
	return both
}

// wayOf are the events of the newest run that changed the state, and the first, which began it.
func wayOf(events []client.Event) (way []client.Event) {
	for _, e := range events {
		switch {
		case e.Event == "reopened" || e.From == "":
			way = []client.Event{e}
		case e.From != e.To:
			way = append(way, e)
		}
	}
	return way
}

// chain draws a flow whose form is not known as the way that was taken.
func chain(t client.Ticket, way []client.Event) (places []place, arrows []arrow) {
	const most = 7
	for _, e := range way[max(0, len(way)-most):] {
		if !slices.ContainsFunc(places, func(p place) bool { return p.state == e.To }) {
			places = append(places, place{e.To, len(places), 0})
		}
		if n := len(places); n > 1 {
			arrows = append(arrows, arrow{places[n-2].state, e.To, e.Step, straight})
		}
	}
	if len(places) == 0 {
		places = []place{{t.State, 0, 0}}
	}
	return places, arrows
}

func (s sizes) draw(now string, places []place, arrows []arrow, way []client.Event) drawing {
	d := drawing{Name: s.name}
	at, last := map[string]place{}, 0
	for _, p := range places {
		at[p.state], last = p, max(last, p.lane)
	}
	said := []string{}
	for _, e := range way {
		said = append(said, e.To)
	}
	d.Says = strings.Join(said, ", then ")
	for _, p := range places {
		b := box{State: p.state}
		for _, e := range way {
			if e.To == p.state {
				b.Kind, b.Below = "taken", plain.Cut(e.At.UTC().Format("15:04:05")+" "+e.Host, 20)
			}
		}
		if p.state == now {
			b.Kind = "now"
		}
		x, y := s.turn(s.middle(p))
		b.Wide, b.High = s.turn(2*s.halfDeep, 2*s.halfAcross)
		b.X, b.Y = x-b.Wide/2, y-b.High/2
		d.Wide, d.High = max(d.Wide, b.X+b.Wide+s.space), max(d.High, b.Y+b.High+s.space)
		d.Boxes = append(d.Boxes, b)
	}
	for _, a := range arrows {
		from, known := at[a.from]
		to, also := at[a.to]
		if !known || !also {
			continue
		}
		l := s.lead(from, to, a.way, last)
		l.Label = a.step
		l.Taken = slices.ContainsFunc(way, func(e client.Event) bool { return e.From == a.from && e.To == a.to })
		d.Lines = append(d.Lines, l)
	}
	slices.SortStableFunc(d.Lines, func(a, b line) int { return cmp.Compare(order(a), order(b)) })
	return d
}

// refuse marks the states that were wanted and refused, and never reached.
func (d drawing) refuse(refused []client.Event) {
	for _, e := range refused {
		for i := range d.Boxes {
			if b := &d.Boxes[i]; b.State == e.To && (b.Kind == "" || b.Kind == "refused") {
				b.Kind, b.Below = "refused", plain.Cut("refused: "+e.Host, 22)
			}
		}
	}
}

func order(l line) int {
	if l.Taken {
		return 1
	}
	return 0
}

// middle is that of a box: how far along the flow, and across it.
func (s sizes) middle(p place) (deep, across int) {
	return s.space + s.halfDeep + p.depth*s.perDepth, s.space + s.halfAcross + p.lane*s.perLane
}

// turn makes pixels of a point: the flow leads to the right where the window is wide, else down.
func (s sizes) turn(deep, across int) (x, y int) {
	if s.name == "wide" {
		return deep, across
	}
	return across, deep
}

// lead draws an arrow.
func (s sizes) lead(from, to place, way, lastLane int) (l line) {
	point := func(deep, across int) string {
		x, y := s.turn(deep, across)
		return fmt.Sprintf("%d %d", x, y)
	}
	const head = 5 // the arrow's, beyond the line
	fd, fa := s.middle(from)
	td, ta := s.middle(to)
	half := (fd + s.halfDeep + td - s.halfDeep) / 2
	lane := s.space + s.halfAcross + lastLane*s.perLane
	switch way {
	case across:
		l.Path = fmt.Sprintf("M%s L%s", point(fd, fa-s.halfAcross), point(td, ta+s.halfAcross+head))
	case bent:
		l.Path = fmt.Sprintf("M%s C%s %s %s", point(fd+s.halfDeep, fa), point(half, fa), point(half, ta), point(td-s.halfDeep-head, ta))
	case over:
		l.Path = fmt.Sprintf("M%s C%s %s %s", point(fd, fa-s.halfAcross), point(fd, ta), point(fd, ta), point(td-s.halfDeep-head, ta))
	case under:
		begin := fmt.Sprintf("M%s C%s %s %s", point(fd, fa+s.halfAcross), point(fd, lane), point(fd, lane), point(fd+s.halfDeep, lane))
		if fa == lane {
			begin = "M" + point(fd+s.halfDeep, fa)
		}
		l.Path = fmt.Sprintf("%s L%s C%s %s %s", begin, point(td-s.halfDeep, lane), point(td, lane), point(td, lane), point(td, ta+s.halfAcross+head))
	default:
		l.Path = fmt.Sprintf("M%s L%s", point(fd+s.halfDeep, fa), point(td-s.halfDeep-head, ta))
	}
	l.X, l.Y = s.turn(half, fa)
	if way == under {
		l.X, l.Y = s.turn(fd+s.halfDeep+s.perDepth/4, lane)
	}
	l.Y += s.below
	return l
}
