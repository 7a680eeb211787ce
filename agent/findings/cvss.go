// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gocvss20 "github.com/pandatix/go-cvss/20"
	gocvss30 "github.com/pandatix/go-cvss/30"
	gocvss31 "github.com/pandatix/go-cvss/31"
	gocvss40 "github.com/pandatix/go-cvss/40"

	"github.com/picketd/picket/agent/plain"
)

// scores collects the CVSS base scores that a scanner gives for one finding.
type scores struct {
	newer, v2 float64
	unread    string // the first vector that cannot be read
}

// add takes one score with its vector, of which either may be missing. Version 2 is kept apart.
func (s *scores) add(version string, score number, vector string) {
	value := score.within(10)
	base, kind, ok := baseScore(vector, version)
	value = cmp.Or(value, base)
	if n := parseNumber(vector).within(10); value == 0 && n > 0 { // a score in the vector's place
		value, ok = n, true
	}
	if !ok && value == 0 && strings.TrimSpace(vector) != "" {
		s.unread = cmp.Or(s.unread, plain.Line(vector, maxPlace))
	}
	if cmp.Or(kind, version) == "2" || kind == "" && strings.HasPrefix(version, "2.") {
		s.v2 = max(s.v2, value)
		return
	}
	s.newer = max(s.newer, value)
}

// merge adds what others have collected.
func (s *scores) merge(o scores) {
	s.newer, s.v2, s.unread = max(s.newer, o.newer), max(s.v2, o.v2), cmp.Or(s.unread, o.unread)
}

// best is the highest of versions 3 and 4; version 2 counts where there is nothing newer.
func (s *scores) best() float64 {
	if s.newer > 0 {
		return s.newer
	}
	return s.v2
}

// metrics are the base metrics of each version, in the order that its specification wants. Those of 3.0 and 3.1 are the same.
var metrics = []struct {
	version, prefix string
	sign            string // a metric that no other version has
	names           []string
	score           func(vector string) (score float64, ok bool)
}{
	{"2", "", "AU", []string{"AV", "AC", "AU", "C", "I", "A"}, scored(gocvss20.ParseVector, (*gocvss20.CVSS20).BaseScore)},
	{"3", "CVSS:3.1/", "S", []string{"AV", "AC", "PR", "UI", "S", "C", "I", "A"}, scored(gocvss31.ParseVector, (*gocvss31.CVSS31).BaseScore)},
	{
		"4", "CVSS:4.0/", "VC",
		[]string{"AV", "AC", "AT", "PR", "UI", "VC", "VI", "VA", "SC", "SI", "SA"},
		scored(gocvss40.ParseVector, (*gocvss40.CVSS40).Score),
	},
}

var score30 = scored(gocvss30.ParseVector, (*gocvss30.CVSS30).BaseScore)

// scored makes one function of how a version's vectors are read and weighed.
func scored[V any](parse func(string) (V, error), weigh func(V) float64) func(string) (float64, bool) {
	return func(vector string) (float64, bool) {
		v, err := parse(vector)
		if err != nil {
			return 0, false
		}
		return weigh(v), true
	}
}

var vectorPrefix = regexp.MustCompile(`^CVSS(?:V?[0-9.]+)?[:# ]*(?:V?[0-9.]+)?[:/# ]*`)

// baseScore computes the base score of a vector, and says of which version it is; ok is false when it is none. Its metrics, and
// not its prefix, tell the version, for data bases have the prefix of another one, or none. They have the metrics in any order,
// in small letters, and with signs left over at their ends, too. What a vector says beyond the base metrics does not count.
// version is what stands beside the vector, and tells 3.0 from 3.1.
func baseScore(vector, version string) (score float64, kind string, ok bool) {
	vector = strings.ToUpper(strings.Trim(strings.TrimSpace(vector), "()[]\"'"))
	prefix := vectorPrefix.FindString(vector)
	values := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(vector, prefix), "/") {
		name, value, _ := strings.Cut(strings.Trim(part, " \t:;,."), ":")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); values[name] != "" && values[name] != value {
			return 0, "", false
		}
		values[name] = value
	}
	for _, m := range metrics {
		if values[m.sign] == "" {
			continue
		}
		var parts []string
		for _, name := range m.names {
			if name == "AU" {
				name = "Au"
			}
			parts = append(parts, name+":"+values[strings.ToUpper(name)])
		}
		rest := strings.Join(parts, "/")
		if m.version == "3" && (strings.Contains(prefix, "3.0") || !strings.Contains(prefix, "3.") && version == "3.0") {
			score, ok = score30("CVSS:3.0/" + rest)
		} else {
			score, ok = m.score(m.prefix + rest)
		}
		if !ok {
			return 0, "", false
		}
		return score, m.version, true
	}
	return 0, "", false
}

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
