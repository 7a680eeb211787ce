// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"regexp"
	"strings"
)

// Identity is what makes a finding the same in the next scan: its id, its package, and its place without what differs each time.
func (f Finding) Identity() string { return f.ID + "\x00" + f.Package + "\x00" + lasting(f.Location) }

var (
	// passing are the parts of a place that a scanner or a system makes up: a UUID, a digest, random characters, a time in seconds.
	passing = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9A-Za-z]{16,}|[0-9]{10,}`)

	// temporary are folders that are made for one run, and what stands directly below those in which they are made.
	temporary = regexp.MustCompile(`(?i)((?:^|[/\\ :])(?:tmp|temp|var/folders/[^/]+/[^/]+/t)[/\\])[^/\\]+([/\\])`)
	scratch   = regexp.MustCompile(`(?i)(^|[/\\ :])(tmp|temp)[._-]?[0-9a-z_]{5,}`)

	address = regexp.MustCompile(`(?i)^([a-z][a-z0-9+.-]*://)(?:[^/?#@]*@)?([^/?#]*)([^?#]*)`)
)

// lasting is a place without what differs in each scan: the query and the fragment of an address, folders for temporary files,
// and random parts of a name.
func lasting(place string) string {
	if m := address.FindStringSubmatch(place); m != nil { // it fails at the first characters of most places
		place = strings.ToLower(m[1]+m[2]) + m[3]
	} else if before, _, ok := strings.Cut(place, "?"); ok && strings.Contains(before, "/") {
		place = before // an address without its scheme
	}
	if lower := strings.ToLower(place); strings.Contains(lower, "tmp") || strings.Contains(lower, "temp") || strings.Contains(lower, "/folders/") {
		place = temporary.ReplaceAllString(place, "$1*$2")
		place = scratch.ReplaceAllString(place, "$1*")
	}
	if !strings.ContainsAny(place, "0123456789") {
		return place
	}
	return passing.ReplaceAllStringFunc(place, func(s string) string {
		if len(s) < 36 && !madeUp(s) {
			return s
		}
		return "*"
	})
}

// madeUp says whether characters are none of a word's: there are some digits among them, or one among letters of both sizes.
func madeUp(s string) bool {
	digits := 0
	for _, r := range s {
		if r <= '9' {
			digits++
		}
	}
	return digits > 2 || digits > 0 && strings.ToLower(s) != s && strings.ToUpper(s) != s
}
