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

// spans are several, with a space between.
func spans(all []span) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return strings.Join(texts, " ")
}
