// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// span is a row of numbers.
type span struct{ first, last int64 }

func (s span) String() string {
	if s.first == s.last {
		return strconv.FormatInt(s.first, 10)
	}
	return fmt.Sprintf("%d-%d", s.first, s.last)
}

// texts are rows of numbers, each in its form.
func texts(all []span) []string {
	s := make([]string, len(all))
	for i, one := range all {
		s[i] = one.String()
	}
	return s
}

// parseSpans reads what String makes, several with a space between; what cannot be read tells of nothing.
func parseSpans(s string) (all []span) {
	for one := range strings.FieldsSeq(s) {
		first, last, many := strings.Cut(one, "-")
		if !many {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 64)
		to, err2 := strconv.ParseInt(last, 10, 64)
		if err1 == nil && err2 == nil && from <= to {
			all = append(all, span{from, to})
		}
	}
	return all
}

// without takes what others hold out of a row of numbers.
func (n span) without(others []span) (left []span) {
	left = []span{n}
	for _, o := range others {
		var next []span
		for _, l := range left {
			if o.last < l.first || o.first > l.last {
				next = append(next, l)
				continue
			}
			if l.first < o.first {
				next = append(next, span{l.first, o.first - 1})
			}
			if o.last < l.last {
				next = append(next, span{o.last + 1, l.last})
			}
		}
		left = next
	}
	return left
}
