// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"regexp"
)

// jsonStart is how an object or a list begins; a line of a log may begin with a bracket too.
var jsonStart = regexp.MustCompile(`^(\{|\[\s*[\[\]{"]|null)`)

// guess says what an output looks like by its beginning; "" when it looks like nothing that is known here.
func guess(head []byte) string {
	head = bytes.TrimSpace(head)
	switch {
	case len(head) == 0:
		return ""
	case head[0] == '<':
		if bytes.Contains(head, []byte("<nmaprun")) {
			return "nmap XML"
		}
		return "XML"
	case !jsonStart.Match(head):
		return "text"
	}
	for _, g := range []struct {
		name    string
		needles []string // all of them
	}{
		{"CycloneDX", []string{`"bomFormat"`}},
		{"SPDX", []string{`"spdxVersion"`}},
		{"SARIF", []string{`"runs"`}},
		{"SARIF", []string{`sarif-`}},
		{"nuclei JSON", []string{`"template-id"`}},
		{"nuclei JSON", []string{`"templateID"`}},
		{"Grype JSON", []string{`"matches"`}},
		{"Trivy JSON", []string{`"SchemaVersion"`}},
		{"Trivy JSON", []string{`"Results"`}},
		{"Trivy JSON", []string{`"Target"`, `"Type"`}},
		{"Semgrep JSON", []string{`"results"`, `"check_id"`}},
		{"Semgrep JSON", []string{`"results"`, `"errors"`, `"paths"`}},
		{"Bandit JSON", []string{`"results"`, `"errors"`, `"metrics"`}},
		{"OSV-Scanner JSON", []string{`"results"`, `"packages"`}},
		{"OSV-Scanner JSON", []string{`"results"`, `"experimental_config"`}},
		{"CISA's catalogue", []string{`"catalogVersion"`}},
		{"a list of findings", []string{`"findings"`}},
	} {
		all := true
		for _, needle := range g.needles {
			all = all && bytes.Contains(head, []byte(needle))
		}
		if all {
			return g.name
		}
	}
	return ""
}
