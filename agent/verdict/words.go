// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"fmt"
	"strconv"
	"strings"
)

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

func num(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// BriefList names the first few.
func BriefList(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// TimeForm is how a time is written for people, with its zone.
const TimeForm = "2006-01-02 15:04:05 MST"
