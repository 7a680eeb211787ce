// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest says what may have been meant by a word that is none of known.
func Suggest(word string, known []string) string {
	best := slices.MinFunc(known, func(a, b string) int { return Distance(word, a) - Distance(word, b) })
	if Distance(word, best) <= 1+len(best)/4 {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "write one of " + strings.Join(known, ", ")
}

// Distance is Levenshtein's, in bytes, with upper and lower case taken for the same.
func Distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, swap)
		}
	}
	return row[len(b)]
}
