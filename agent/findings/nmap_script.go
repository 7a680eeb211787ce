// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/picketd/picket/agent/plain"
)

// add takes the findings of the scripts that report vulnerabilities: vulners and vulners_enterprise, and those that use
// NSE's vulns library (ssl-heartbleed, smb-vuln-…, http-vuln-…). at is where the script looked.
func (s nmapScript) add(at Finding, into *collector) error {
	failed := strings.HasPrefix(strings.TrimSpace(s.Output), "ERROR")
	if s.ID != "vulners" && s.ID != "vulners_enterprise" {
		if failed {
			into.untried(fmt.Sprintf("nmap's script %s failed at %s", s.ID, at.Location))
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
	what := cmp.Or(at.Package, strings.TrimPrefix(strings.TrimPrefix(software, "cpe:/a:"), "cpe:/o:"), "the software")
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

// maxXMLDepth bounds how deep elements may be nested; nmap itself needs about ten.
const maxXMLDepth = 64

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

// characters gives out XML in which what XML forbids is U+FFFD: nmap writes what a service answers as references to characters
// (&#x1b;), of which XML 1.0 has no control characters, and nobody who runs a service may spoil the whole report. It counts
// what takes memory in the parser, too.
type characters struct {
	*source
	queue []byte // of replacements
	parts int    // tags and attributes since the last token that was asked for
}

// ReadByte is what encoding/xml reads by.
func (c *characters) ReadByte() (byte, error) {
	if len(c.queue) > 0 {
		b := c.queue[0]
		c.queue = c.queue[1:]
		return b, nil
	}
	b, err := c.source.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case b == '<' || b == '"' || b == '\'':
		if c.parts++; c.parts > maxParts {
			return 0, fmt.Errorf("the number of its elements and attributes %w of %d", errLimit, maxParts)
		}
	case b == '&':
		const longest = 16 // bytes of a reference with zeros in it
		ahead, _ := c.Peek(longest)
		if end := bytes.IndexByte(ahead, ';'); end > 1 && ahead[0] == '#' && !allowed(string(ahead[1:end])) {
			_, _ = c.Discard(end + 1)
			return c.replace(), nil
		}
	case b < ' ' && b != '\t' && b != '\n' && b != '\r':
		return c.replace(), nil
	case b == 0xef:
		if ahead, _ := c.Peek(2); string(ahead) == "\xbf\xbe" || string(ahead) == "\xbf\xbf" {
			_, _ = c.Discard(2)
			return c.replace(), nil
		}
	}
	return b, nil
}

func (c *characters) replace() byte {
	c.queue = []byte(string(utf8.RuneError))
	b := c.queue[0]
	c.queue = c.queue[1:]
	return b
}

// allowed says whether XML 1.0 has the character that a reference names (its section 2.2). What is no number is left to the
// parser, which refuses it.
func allowed(reference string) bool {
	base := 10
	if hex, ok := strings.CutPrefix(reference, "x"); ok {
		reference, base = hex, 16
	}
	n, err := strconv.ParseUint(reference, base, 64)
	return err != nil || n == '\t' || n == '\n' || n == '\r' ||
		n >= ' ' && n <= 0xd7ff || n >= 0xe000 && n <= 0xfffd || n >= 0x10000 && n <= 0x10ffff
}
