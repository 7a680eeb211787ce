// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"slices"
	"strconv"
	"strings"

	gocvss20 "github.com/pandatix/go-cvss/20"
	gocvss30 "github.com/pandatix/go-cvss/30"
	gocvss31 "github.com/pandatix/go-cvss/31"
	gocvss40 "github.com/pandatix/go-cvss/40"
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

// scores collects the CVSS base scores that a scanner gives for one finding.
type scores struct{ newer, v2 float64 }

// add takes one score with its vector, of which either may be missing. Version 2 is kept apart.
func (s *scores) add(version string, score number, vector string) {
	value := score.within(10)
	if value == 0 {
		value = baseScore(vector)
	}
	if strings.HasPrefix(version, "2") || version == "" && vector != "" && !strings.HasPrefix(vector, "CVSS:") {
		s.v2 = max(s.v2, value)
		return
	}
	s.newer = max(s.newer, value)
}

// best is the highest of versions 3 and 4; version 2 counts where there is nothing newer.
func (s *scores) best() float64 {
	if s.newer > 0 {
		return s.newer
	}
	return s.v2
}

// baseScore computes the base score of a vector of CVSS 2.0, 3.0, 3.1 or 4.0; 0 when it is none.
func baseScore(vector string) float64 {
	vector = strings.TrimSpace(vector)
	version, _, _ := strings.Cut(strings.TrimPrefix(vector, "CVSS:"), "/")
	switch version {
	case "4.0":
		if v, err := gocvss40.ParseVector(baseOf(vector)); err == nil {
			return v.Score()
		}
	case "3.1":
		if v, err := gocvss31.ParseVector(vector); err == nil {
			return v.BaseScore()
		}
	case "3.0":
		if v, err := gocvss30.ParseVector(vector); err == nil {
			return v.BaseScore()
		}
	default:
		if v, err := gocvss20.ParseVector(strings.Trim(vector, "()")); err == nil {
			return v.BaseScore()
		}
	}
	return 0
}

// baseOf leaves the eleven base metrics of a version 4 vector: what others say of threat and environment is not part of a
// base score.
func baseOf(vector string) string {
	base := []string{"CVSS", "AV", "AC", "AT", "PR", "UI", "VC", "VI", "VA", "SC", "SI", "SA"}
	return strings.Join(slices.DeleteFunc(strings.Split(vector, "/"), func(metric string) bool {
		name, _, _ := strings.Cut(metric, ":")
		return !slices.Contains(base, name)
	}), "/")
}
