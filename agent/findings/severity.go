// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"slices"
	"strconv"
	"strings"
)

// severity translates a scanner's word; a number counts as a CVSS score. What nobody knows is unknown.
func severity(word string) string {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "critical", "crit", "fatal":
		return "critical"
	case "high", "important", "error", "severe":
		return "high"
	case "medium", "moderate", "warning", "warn":
		return "medium"
	case "low", "minor", "note":
		return "low"
	case "info", "information", "informational", "negligible", "unimportant", "none":
		return "info"
	}
	if score, err := strconv.ParseFloat(word, 64); err == nil && score >= 0 && score <= 10 {
		return rating(score)
	}
	return "unknown"
}

// worse returns the more severe of two words, one that is known before one that is not.
func worse(a, b string) string {
	a, b = severity(a), severity(b)
	if a == "unknown" || b != "unknown" && rank(b) > rank(a) {
		return b
	}
	return a
}

// rating is the qualitative severity rating scale of CVSS 3.1 (section 5) and 4.0 (section 6). It stands for version 2 too,
// which has none.
func rating(score float64) string {
	switch {
	case score >= 9:
		return "critical"
	case score >= 7:
		return "high"
	case score >= 4:
		return "medium"
	case score > 0:
		return "low"
	}
	return "info"
}

// severities are the words of Finding.Severity, the least severe first. One that nobody has rated may be anything, so it
// stands before those known to be harmless.
var severities = []string{"info", "unknown", "low", "medium", "high", "critical"}

func rank(severity string) int { return slices.Index(severities, severity) }
