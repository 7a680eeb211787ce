// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"cmp"
	"slices"
)

// alike are findings of one section of which the same is to be said.
type alike struct {
	Finding          // the first of them
	Said    string   // what is said of them beside the finding
	Assets  []string // the first few
	On      int
	Places  int // findings
}

// together puts findings of one id in one package together of which said tells the same. They are sorted, the most severe first.
func together(list []Finding, said func(Finding) string) []alike {
	type key struct{ id, pkg, severity, said string }
	at := map[key]int{}
	var all []alike
	last := map[key]string{} // the asset that was counted last
	for _, f := range slices.SortedStableFunc(slices.Values(list), func(a, b Finding) int { return cmp.Compare(a.Asset, b.Asset) }) {
		k := key{f.ID, packageName(f.Package), f.Severity, said(f)}
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			all = append(all, alike{Finding: f, Said: k.said})
		}
		one := &all[i]
		one.Places++
		if asset, counted := last[k]; !counted || asset != f.Asset {
			last[k] = f.Asset
			if one.On++; len(one.Assets) < mostNames {
				one.Assets = append(one.Assets, f.Asset)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b alike) int {
		return cmp.Or(graver(a.Finding, b.Finding), b.On-a.On, bySeverity(a.Finding, b.Finding))
	})
	return all
}
