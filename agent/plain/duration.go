// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"strconv"
	"strings"
	"time"
)

// Duration is Go's form of a duration without units that are zero at its end: 24h, not 24h0m0s.
func Duration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// About is a duration as people say it, to two digits or so.
func About(d time.Duration) string {
	switch {
	case d < time.Minute:
		d = d.Round(time.Second)
	case d < time.Hour:
		d = d.Round(10 * time.Second)
	default:
		d = d.Round(time.Minute)
	}
	return Duration(d)
}

// Count is a number with the word that goes with it.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
