// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// add takes the findings of the scripts that report vulnerabilities: vulners and vulners_enterprise, and those that use
// NSE's vulns library (ssl-heartbleed, smb-vuln-…, http-vuln-…). at is where the script looked.
func (s nmapScript) add(at Finding, into *collector) error {
	failed := strings.HasPrefix(strings.TrimSpace(s.Output), "ERROR")
	if s.ID != "vulners" && s.ID != "vulners_enterprise" {
		if failed {
			into.note(fmt.Sprintf("nmap's script %s failed at %s", s.ID, at.Location))
		}
		if strings.HasPrefix(s.ID, "vulscan") && s.Output != "" {
			into.note("what nmap's script vulscan guesses from names of products is not counted")
		}
		return s.vulns(at, into)
	}
	if failed {
		return fmt.Errorf("the script %s failed at %s: %s", s.ID, plain.Line(at.Location, maxPlace), plain.Line(s.Output, maxTitle))
	}
	if len(s.Tables) == 0 {
		return s.text(at, into)
	}
	for _, software := range s.Tables {
		for _, t := range software.Tables {
			id := t.elem("id")
			f := vulnersFinding(at, id, software.Key, t.elem("is_exploit") == "true")
			f.CVSS = parseNumber(t.elem("cvss")).within(10)
			if kind := t.elem("type"); kind != "" && id != "" {
				f.URL = "https://vulners.com/" + url.PathEscape(kind) + "/" + url.PathEscape(id)
			}
			if err := into.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// vulnersFinding is what vulners knows of the software at a place: a vulnerability, or that an exploit of it is published.
func vulnersFinding(at Finding, id, software string, exploit bool) Finding {
	f := at
	f.ID, f.Aliases = identify(id)
	what := first(at.Package, strings.TrimPrefix(strings.TrimPrefix(software, "cpe:/a:"), "cpe:/o:"), "the software")
	f.Title = what + " is known to have " + id
	if exploit {
		f.Title = "An exploit for " + what + " is published: " + id
	}
	return f
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
		f := vulnersFinding(at, strings.TrimSpace(parts[0]), software, strings.Contains(line, "*EXPLOIT*"))
		score := parts[1][strings.LastIndexByte(parts[1], ' ')+1:]
		f.CVSS, f.URL = parseNumber(score).within(10), firstLink(parts[2:]...)
		if err := into.add(f); err != nil {
			return err
		}
	}
	return nil
}
