// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"regexp"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/strict"
)

var (
	cveForm  = regexp.MustCompile(`^(?i:CVE)-[0-9]{4}-[0-9]{4,19}$`)
	ghsaForm = regexp.MustCompile(`^(?i:GHSA(-[23456789cfghjmpqrvwx]{4}){3})$`)
	numbered = regexp.MustCompile(`^([A-Za-z]{2,5})([-_ –—:.]?[0-9]{4}[-_ –—:.][0-9]+.*)$`) // as CVEs are
)

// maxID is the longest id of a finding, in bytes.
const maxID = 128

// wrongID says why a text is no id of a finding, or nothing. Scanners have ids of their own, so that only what must have been meant
// for a CVE or a GHSA is held against their form.
func wrongID(id string) string {
	upper := strings.ToUpper(id)
	switch m := numbered.FindStringSubmatch(id); {
	case id == "":
		return "is missing: write the id of a finding, such as CVE-2024-1234"
	case len(id) > maxID || id != plain.Line(id, 0) || strings.TrimSpace(id) != id:
		return "is no id of a finding: write one line without spaces around it, such as CVE-2024-1234"
	case strings.ContainsAny(id, "*?"):
		return "is no pattern: write one id an entry, such as CVE-2024-1234"
	case strings.HasPrefix(upper, "CVE") && !cveForm.MatchString(id):
		return "is no CVE: write CVE, a year and a number of at least four digits, such as CVE-2024-1234"
	case strings.HasPrefix(upper, "GHSA") && !ghsaForm.MatchString(id):
		return "is no GHSA: write GHSA and three groups of four characters, such as GHSA-jfh8-c2jp-5v3q"
	case m != nil && !cveForm.MatchString(id) && isLike(m[1]):
		return "is none that is known: did you mean CVE-" + strings.TrimLeft(m[2], "-_ –—:.") + "?"
	}
	return ""
}

// isLike says whether a word is CVE with a slip of the finger: a letter more, less or other, or two that have changed places.
func isLike(word string) bool {
	letters := []byte(strings.ToUpper(word))
	slices.Sort(letters)
	return string(letters) == "CEV" || strict.Distance(word, "CVE") == 1
}
