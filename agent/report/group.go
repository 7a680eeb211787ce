// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	mostGroups   = 20_000 // of which twice as many may stand there for a while
	mostVersions = 3      // packages and fix versions beside a group
)

// Group is one finding on several assets: those of one id in one package, in whatever version.
type Group struct {
	Finding           // the gravest of them
	Assets   []string // the first few on which it is open
	On       int      // how many these are
	New      []string // the first few on which it is new
	NewOn    int      // how many these are
	Packages []string // some of the versions that were found
	FixedIns []string // some of the versions that mend it

	last, lastNew string // the assets that were counted last
}

// groups gather findings by what they are. Of more than mostGroups only the gravest are kept.
type groups struct {
	all   map[string]*Group
	floor *Finding // what is not graver than this is in no new group, as some such were given up
	left  int      // findings of groups that were given up
}

// add takes a finding that is open. The findings of an asset come one after another.
func (g *groups) add(f Finding, isNew bool) {
	key := f.ID + "\x00" + packageName(f.Package)
	one := g.all[key]
	if one == nil {
		if g.floor != nil && graver(f, *g.floor) >= 0 {
			g.left++
			return
		}
		if len(g.all) >= 2*mostGroups {
			g.prune()
		}
		if g.all == nil {
			g.all = map[string]*Group{}
		}
		one = &Group{Finding: f}
		g.all[key] = one
	}
	if graver(f, one.Finding) < 0 {
		one.Finding = f
	}
	if one.last != f.Asset {
		if one.last, one.On = f.Asset, one.On+1; len(one.Assets) < mostNames {
			one.Assets = append(one.Assets, f.Asset)
		}
	}
	if isNew && one.lastNew != f.Asset {
		if one.lastNew, one.NewOn = f.Asset, one.NewOn+1; len(one.New) < mostNames {
			one.New = append(one.New, f.Asset)
		}
	}
	one.Packages = withVersion(one.Packages, f.Package)
	one.FixedIns = withVersion(one.FixedIns, f.FixedIn)
}

func withVersion(all []string, one string) []string {
	if one != "" && len(all) < mostVersions && !slices.Contains(all, one) {
		return append(all, one)
	}
	return all
}

func (g *groups) prune() {
	list := g.sorted()
	floor := list[mostGroups].Finding
	g.floor = &floor
	for _, one := range list[mostGroups:] {
		g.left += one.On
		delete(g.all, one.ID+"\x00"+packageName(one.Package))
	}
}

// sorted are the groups, the gravest first, and of equal ones that on most assets.
func (g *groups) sorted() []Group {
	list := make([]Group, 0, len(g.all))
	for _, one := range g.all {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(graver(a.Finding, b.Finding), b.On-a.On, strings.Compare(a.ID, b.ID), strings.Compare(a.Package, b.Package))
	})
	return list
}

// Where are the assets of a group, with how many more there are.
func (g Group) Where() string { return someOf(g.Assets, g.On) }

// someOf names some of so many.
func someOf(names []string, all int) string {
	text := strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
