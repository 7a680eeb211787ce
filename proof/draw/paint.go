// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package draw

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picketd/picket/proof/history"
)

// scene is the picture: lanes one below the other.
type scene struct {
	Width, Height int
	Left, Top     int
	Lanes         []*lane
	Shades        []bar // faults, over all lanes
	Ticks         []tick
}

type lane struct {
	Name string
	Y    int
	Bars []bar
	rank string
}

// bar is what lasts for some time, or for a moment.
type bar struct {
	X, Width     int
	Class, Title string
	Marks        string // the numbers of the records that are listed in words
	End          int
}

// paint lays out those records of a history that are shown. marks has the numbers of those that are listed in words.
func paint(records []history.Record, shown []int, marks map[int]int) *scene {
	p := &painter{records: records, shown: shown, marks: marks, lanes: map[string]*lane{}}
	var times []int64
	for _, n := range shown {
		switch r := records[n]; {
		case r.Setup != nil:
			continue
		case r.Sending != nil:
			times = append(times, r.Sending.Begin, r.At)
		default:
			times = append(times, r.At)
		}
	}
	if times == nil {
		return nil
	}
	p.axis = newAxis(times)
	p.calls()
	p.faults()
	p.others()
	return p.scene()
}

type painter struct {
	*axis
	records []history.Record
	shown   []int
	marks   map[int]int
	lanes   map[string]*lane
	shades  []bar
}

// add adds a bar to the lane of that name; lanes are in the order of their ranks. records are what it stands for.
func (p *painter) add(rank, name, class, title string, from, to int64, records ...int) bar {
	l := p.lanes[rank+name]
	if l == nil {
		l = &lane{Name: name, rank: rank + name}
		p.lanes[rank+name] = l
	}
	b := bar{X: p.x(from), Width: max(p.x(to)-p.x(from), least), Class: class, Title: since(p.first(), from) + " " + name + ": " + title}
	for _, n := range records {
		if mark := p.marks[n]; mark > 0 {
			b.Marks = strings.TrimSpace(b.Marks + " " + fmt.Sprint(mark))
		}
	}
	b.End = b.X + b.Width + 3
	l.Bars = append(l.Bars, b)
	return b
}

// calls adds each call with its answer as one bar, to the end of the picture if it has none, and beneath it for how long its claim is
// trusted.
func (p *painter) calls() {
	answers := map[string]int{}
	for _, n := range p.shown {
		if a := p.records[n].Answer; a != nil {
			answers[a.ID] = n
		}
	}
	for _, n := range p.shown {
		r := p.records[n]
		if r.Call == nil {
			continue
		}
		m, found := answers[r.Call.ID]
		if !found {
			p.add("2", r.By, "open", describe(r)+"\nno answer", r.At, p.last(), n)
			continue
		}
		answer := p.records[m]
		p.add("2", r.By, class(answer.Answer), describe(r)+"\n"+describe(answer), r.At, answer.At, n, m)
		if long, token := trusted(answer.Answer); long > 0 && r.At+long > answer.At {
			title := fmt.Sprintf("token %d is trusted until %s", token, since(p.first(), r.At+long))
			p.add("2", r.By+" (trusted)", "trust", title, answer.At, r.At+long)
		}
	}
}

// faults adds each fault from its beginning to its end, and shades that time in all lanes.
func (p *painter) faults() {
	begun := map[int]int{}
	add := func(n int, to int64, records ...int) {
		r := p.records[n]
		p.shades = append(p.shades, p.add("1", "fault: "+r.Fault.Name, "fault", describe(r), r.At, to, records...))
	}
	for _, n := range p.shown {
		switch r := p.records[n]; {
		case r.Fault == nil:
		case !r.Fault.End:
			begun[r.Fault.ID] = n
		default:
			from, found := begun[r.Fault.ID]
			if !found {
				from = n
			}
			add(from, r.At, from, n)
			delete(begun, r.Fault.ID)
		}
	}
	for _, n := range slices.Sorted(maps.Values(begun)) {
		add(n, p.last(), n)
	}
}

// others adds what is neither call nor fault.
func (p *painter) others() {
	for _, n := range p.shown {
		switch r := p.records[n]; {
		case r.Sending != nil && r.Sending.Status/100 == 2:
			p.add("3", "receiver "+r.Sending.Channel, "done", describe(r), r.Sending.Begin, r.At, n)
		case r.Sending != nil:
			p.add("3", "receiver "+r.Sending.Channel, "refused", describe(r), r.Sending.Begin, r.At, n)
		case r.Audit != nil:
			p.add("4", "audit "+r.Audit.Host, "note", describe(r), r.At, r.At, n)
		case r.Process != nil:
			p.add("5", r.Process.Kind+" of "+r.Process.Host, "note", describe(r), r.At, r.At, n)
		}
	}
}

func (p *painter) scene() *scene {
	s := &scene{Width: p.width(), Left: left, Top: top, Shades: p.shades, Ticks: p.ticks()}
	for _, l := range slices.SortedFunc(maps.Values(p.lanes), func(a, b *lane) int { return strings.Compare(a.rank, b.rank) }) {
		l.Y = top + high*len(s.Lanes)
		s.Lanes = append(s.Lanes, l)
	}
	s.Height = top + high*len(s.Lanes) + 8
	return s
}
