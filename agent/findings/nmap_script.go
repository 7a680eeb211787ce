// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"fmt"
	"strings"
)

// nmapScript is what a script of NSE found: in tables, and the same as text.
type nmapScript struct {
	ID     string `xml:"id,attr"`
	Output string `xml:"output,attr"`
	nmapTable
}

type nmapTable struct {
	Key   string `xml:"key,attr"`
	Elems []struct {
		Key  string `xml:"key,attr"`
		Text string `xml:",chardata"`
	} `xml:"elem"`
	Tables []nmapTable `xml:"table"`
}

func (t nmapTable) elem(key string) string {
	for _, e := range t.Elems {
		if e.Key == key {
			return e.Text
		}
	}
	return ""
}

// add takes the findings of the scripts that report vulnerabilities: vulners and vulners_enterprise, and those that use
// NSE's vulns library (ssl-heartbleed, smb-vuln-…, http-vuln-…). at is where the script looked.
func (s nmapScript) add(at Finding, into *collector) error {
	if s.ID != "vulners" && s.ID != "vulners_enterprise" {
		return s.vulns(at, into)
	}
	if strings.HasPrefix(strings.TrimSpace(s.Output), "ERROR") {
		return fmt.Errorf("the script %s failed at %s: %s", s.ID, clean(at.Location, maxPlace), clean(s.Output, maxTitle))
	}
	if len(s.Tables) == 0 {
		return s.text(at, into)
	}
	for _, software := range s.Tables {
		for _, t := range software.Tables {
			f := at
			f.ID, f.CVSS = t.elem("id"), parseNumber(t.elem("cvss")).within(10)
			f.Title = join(f.ID, "in", software.Key)
			f.ID, f.Aliases = identify(f.ID)
			if err := into.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// text reads the lines of vulners, an id, a score ("5.0", or "cvss3.1: 5.0"; it may be missing) and a link with tabs between,
// under a line for each software that ends in a colon.
func (s nmapScript) text(at Finding, into *collector) error {
	software := ""
	for line := range strings.SplitSeq(s.Output, "\n") {
		parts := strings.Split(strings.TrimLeft(line, " \t"), "\t")
		if len(parts) < 3 || !strings.Contains(line, "://") {
			if trimmed := strings.TrimSpace(line); strings.HasSuffix(trimmed, ":") {
				software = strings.TrimSuffix(trimmed, ":")
			}
			continue
		}
		f := at
		score := parts[1][strings.LastIndexByte(parts[1], ' ')+1:]
		f.CVSS = parseNumber(score).within(10)
		f.Title = join(parts[0], "in", software)
		f.ID, f.Aliases = identify(strings.TrimSpace(parts[0]))
		if err := into.add(f); err != nil {
			return err
		}
	}
	return nil
}
