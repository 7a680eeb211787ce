// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"cmp"
	"strconv"
	"strings"
)

// trivyVulnerability is one of Results[].Vulnerabilities.
type trivyVulnerability struct {
	VulnerabilityID  text
	VendorIDs        texts
	FixedVersion     text
	PrimaryURL       text
	References       texts
	PkgName          text
	PkgPath          text
	InstalledVersion text
	Status           text
	Title            text
	Description      text
	Severity         text
	VendorSeverity   map[string]number // of each source: 0 unknown to 4 critical
	CVSS             map[string]struct {
		V2Vector, V3Vector, V40Vector text
		V2Score, V3Score, V40Score    number
	}
}

// trivyMisconfiguration is one of Results[].Misconfigurations.
type trivyMisconfiguration struct {
	ID, AVDID, Namespace, Title, Message, Severity, Status, PrimaryURL text
	CauseMetadata                                                      struct{ StartLine number }
}

// trivySecret is one of Results[].Secrets; what was found is left where it is.
type trivySecret struct {
	RuleID, Title, Severity text
	StartLine               number
}

// trivyLicense is one of Results[].Licenses. They are looked for only where somebody asked for it.
type trivyLicense struct {
	Severity, Category, PkgName, FilePath, Name, Link text
}

// licensed is what an id of a licence begins with.
const licensed = "license:"

func (l *trivyLicense) finding() Finding {
	title := "License " + string(l.Name)
	if l.Category != "" {
		title += " is " + string(l.Category)
	}
	return Finding{
		ID: licensed + string(l.Name), Severity: string(l.Severity), Title: title, Package: string(l.PkgName), Location: string(l.FilePath), URL: string(l.Link),
	}
}

func (v *trivyVulnerability) finding() Finding {
	f := Finding{
		Severity: string(v.Severity), Title: cmp.Or(string(v.Title), string(v.Description)),
		Package: join(string(v.PkgName), string(v.InstalledVersion)), Location: string(v.PkgPath),
		FixedIn: string(v.FixedVersion), URL: firstLink(append(texts{string(v.PrimaryURL)}, v.References...)...),
	}
	f.ID, f.Aliases = identify(append([]string{string(v.VulnerabilityID)}, v.VendorIDs...)...)
	if severity(f.Severity) == "unknown" {
		var worst number
		for _, n := range v.VendorSeverity {
			worst = max(worst, n)
		}
		if worst >= 1 && worst <= 4 {
			f.Severity = []string{"low", "medium", "high", "critical"}[int(worst)-1]
		}
	}
	var s scores
	for _, c := range v.CVSS {
		s.add("2", c.V2Score, string(c.V2Vector))
		s.add("3", c.V3Score, string(c.V3Vector))
		s.add("4", c.V40Score, string(c.V40Vector))
	}
	f.CVSS, f.Vector = s.best(), s.unread
	return f
}

// finding names a policy by its namespace where it has no id, for what people write themselves without metadata has "N/A" for
// an id and a title. One policy may find several things in a file, which its messages tell apart.
func (m *trivyMisconfiguration) finding() Finding {
	given := func(s text) string {
		if s == "N/A" {
			return ""
		}
		return string(s)
	}
	f := Finding{Severity: string(m.Severity), Title: given(m.Title), Location: trivyLine(m.CauseMetadata.StartLine), URL: string(m.PrimaryURL)}
	if message := given(m.Message); message != "" && message != f.Title {
		f.Title = strings.TrimPrefix(f.Title+": "+message, ": ")
	}
	f.ID, f.Aliases = identify(given(m.ID), given(m.AVDID))
	f.ID = cmp.Or(f.ID, given(m.Namespace), string(m.ID))
	return marked(f, string(m.Namespace), string(m.Message))
}

// trivyLine is the place of a line within a target.
func trivyLine(n number) string {
	if n < 1 || n > 1e9 {
		return ""
	}
	return "line " + strconv.Itoa(int(n))
}
