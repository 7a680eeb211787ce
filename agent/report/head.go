// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import "slices"

// Section is a list of a report: how many there are, and the first of them.
type Section[T any] struct {
	Count int
	Head  []T // in order

	most  int // that are kept
	order func(a, b T) int
}

// add takes one more. Twice as many as are kept may stand there until the report is made.
func (s *Section[T]) add(v T) {
	s.Count++
	s.Head = append(s.Head, v)
	if len(s.Head) >= 2*s.most {
		s.cut()
	}
}

func (s *Section[T]) cut() {
	slices.SortFunc(s.Head, s.order)
	if len(s.Head) > s.most {
		clear(s.Head[s.most:])
		s.Head = s.Head[:s.most]
	}
}

// Left is how many are not in Head.
func (s Section[T]) Left() int { return s.Count - len(s.Head) }

// First are the first n, or all where there are fewer.
func (s Section[T]) First(n int) []T { return s.Head[:min(n, len(s.Head))] }
