// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// nmapReport is one report of NSE's vulns library, as its text tells it.
type nmapReport struct {
	title, state, risk string
	names, links       []string
	scores             scores
}

// maxReports bounds the reports in one script's text.
const maxReports = 10_000

// vulns takes what a script reports with NSE's vulns library: from its tables, at whatever depth they stand (sslv2-drown puts
// them into one named "vulns", early versions of nmap wrote no table around the only report), and from the text where there
// are no tables. The risk factor is only in the text.
func (s nmapScript) vulns(at Finding, into *collector) error {
	reports := nmapReports(s.Output)
	if len(reports) > maxReports {
		return fmt.Errorf("the number of reports of the script %s %w of %d", plain.Line(s.ID, maxID), errLimit, maxReports)
	}
	byTitle := map[string]nmapReport{}
	for _, r := range slices.Backward(reports) { // the first of a title counts
		byTitle[r.title] = r
	}
	found, err := s.nmapTable.vulns(s.ID, at, byTitle, 0, into)
	if err != nil || found > 0 || len(s.Tables) > 0 || len(s.Elems) > 0 {
		return err
	}
	for _, r := range reports {
		if vulnerable(r.state) {
			f := at
			f.Title, f.CVSS, f.Severity = r.title, r.scores.best(), r.risk
			f.Vector, f.URL = r.scores.unread, firstLink(r.links...)
			if f.CVSS > 0 {
				f.Severity = rating(f.CVSS)
			}
			f.ID, f.Aliases = identify(append(r.names, s.ID)...)
			if err := into.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// vulns takes the reports in a table and in those inside it, and returns how many there were. Only what is vulnerable counts.
func (t nmapTable) vulns(script string, at Finding, reports map[string]nmapReport, depth int, into *collector) (int, error) {
	if depth > maxXMLDepth {
		return 0, fmt.Errorf("the tables of the script %s are nested more than %d deep, which %w", plain.Line(script, maxID), maxXMLDepth, errLimit)
	}
	found := 0
	for _, sub := range t.Tables {
		n, err := sub.vulns(script, at, reports, depth+1, into)
		if err != nil {
			return 0, err
		}
		found += n
	}
	title := t.elem("title")
	if !vulnerable(t.elem("state")) || title == "" && found > 0 { // a state without a title sums up what stands inside
		return found, nil
	}
	var names, links []string
	var sc scores
	for _, sub := range t.Tables {
		for _, e := range sub.Elems {
			switch sub.Key {
			case "ids":
				names = append(names, nmapID(e.Text))
			case "refs":
				links = append(links, e.Text)
			case "scores":
				sc.nmap(e.Key, e.Text)
			}
		}
	}
	if !strings.HasPrefix(t.Key, "NMAP-") { // which is a mere number
		names = append(names, t.Key)
	}
	f := at
	f.Title, f.CVSS, f.Vector, f.URL = title, sc.best(), sc.unread, firstLink(links...)
	if f.CVSS == 0 {
		f.Severity = reports[strings.TrimSpace(title)].risk
	}
	f.ID, f.Aliases = identify(append(names, script)...)
	return found + 1, into.add(f)
}

// vulnerable says whether a state of the library does: LIKELY VULNERABLE, VULNERABLE, VULNERABLE (DoS) and (Exploitable).
func vulnerable(state string) bool {
	return strings.HasPrefix(state, "VULNERABLE") || strings.HasPrefix(state, "LIKELY VULNERABLE")
}

// nmapID reads "CVE:CVE-2014-0160" and "BID:67188".
func nmapID(s string) string {
	s = strings.TrimSpace(s)
	if _, id, ok := strings.Cut(s, ":"); ok {
		return id
	}
	return s
}

// nmap takes one of the scores that scripts write, "9.3 (HIGH) (AV:N/AC:M/Au:N/C:C/I:C/A:C)" under "CVSSv2" or "CVSS2"; the
// words in brackets may be missing.
func (s *scores) nmap(key, value string) {
	key = strings.ToUpper(strings.TrimSpace(key))
	if !strings.HasPrefix(key, "CVSS") {
		return
	}
	number, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	vector := rest[strings.LastIndexByte(rest, '(')+1:]
	if strings.Contains(number, ":") {
		number, vector = "", number
	}
	s.add(strings.TrimLeft(key, "CVS"), parseNumber(number), strings.Trim(vector, "() "))
}

// nmapReports reads the text of the vulns library: under the line of a title come "State:", "IDs:" and "Risk factor:", the
// latter with the scores behind it, two spaces between.
func nmapReports(output string) []nmapReport {
	var all []nmapReport
	last, referring := "", false
	for line := range strings.SplitSeq(output, "\n") {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, ": ")
		parts := strings.Split(strings.TrimSpace(value), "  ")
		switch {
		case key == "State" && len(all) > maxReports:
			return all // too many
		case key == "State":
			referring = false
			all = append(all, nmapReport{title: last, state: parts[0]})
		case len(all) == 0:
		case line == "References:":
			referring = true
		case referring && strings.HasPrefix(line, "http"):
			all[len(all)-1].links = append(all[len(all)-1].links, line)
		case key == "IDs":
			for _, id := range parts {
				all[len(all)-1].names = append(all[len(all)-1].names, nmapID(id))
			}
		case key == "Risk factor":
			all[len(all)-1].risk = parts[0]
			for _, part := range parts[1:] {
				kind, score, _ := strings.Cut(part, ": ")
				all[len(all)-1].scores.nmap(kind, score)
			}
		}
		if line != "" {
			last = line
		}
	}
	return all
}
