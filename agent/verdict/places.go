// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Places are numbers in little room, ascending, with ranges: "0,3-5".
type Places string

// PlacesOf writes numbers that ascend.
func PlacesOf(numbers []int) Places {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		part := strconv.Itoa(numbers[i])
		if last > i {
			part = fmt.Sprintf("%d-%d", numbers[i], numbers[last])
		}
		parts, i = append(parts, part), last+1
	}
	return Places(strings.Join(parts, ","))
}

// maxRange bounds what ranges that somebody else has written may stand for.
const maxRange = 1 << 20

// All are the numbers. What is no number stands for nothing.
func (p Places) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		left := maxRange
		for part := range strings.SplitSeq(string(p), ",") {
			first, last, isRange := strings.Cut(part, "-")
			n, err := strconv.ParseUint(first, 10, 63)
			m := n
			if isRange && err == nil {
				m, err = strconv.ParseUint(last, 10, 63)
			}
			for ; err == nil && n <= m; n++ {
				if left--; left < 0 || !yield(n) {
					return
				}
			}
		}
	}
}
