// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package check

import (
	"cmp"
	"slices"
)

// moment is when an op begins, or ends.
type moment struct {
	at   int64
	ends bool
	*op
}

// moments are those of all ops, in order. What begins when another ends is under way with it.
func moments(ops []*op) (all []moment) {
	for _, o := range ops {
		all = append(all, moment{o.begin, false, o})
		if o.end != never {
			all = append(all, moment{o.end, true, o})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.ends == b.ends:
			return 0
		case a.ends:
			return 1
		}
		return -1
	})
	return all
}
