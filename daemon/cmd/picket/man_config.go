// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"regexp"
	"strings"
)

// In an example configuration, "#key = " shows a default, "# key = " an example, "key = " what has no default, and what stands
// above is about the first key below it.
var (
	configKey   = regexp.MustCompile(`^(# ?)?([a-z_]+) = (.*)$`)
	configTable = regexp.MustCompile(`^(?:# )?(\[\[?[a-z_.]+\]\]?)$`)
)

func (p *page) config(name, doc string) {
	p.title(name, "5", "configuration of Picket")
	p.line(".SH DESCRIPTION")
	var about []string
	flush := func() {
		if len(about) > 0 {
			p.text(strings.Join(about, "\n"))
		}
		about = nil
	}
	for l := range strings.Lines(doc) {
		l = strings.TrimSuffix(l, "\n")
		if m := configTable.FindStringSubmatch(l); m != nil {
			above := about // of [[channel]]: what the table is
			about = nil
			p.line(".SH \"%s\"", roff(m[1]))
			about = above
			flush()
		} else if m := configKey.FindStringSubmatch(l); m != nil {
			p.line(".TP\n.B %s", roff(m[2]))
			flush()
			if m[1] == "#" {
				p.line(`Default: %s`, roff(m[3]))
			} else {
				p.line(`For example: %s`, roff(m[3]))
			}
		} else if text, ok := strings.CutPrefix(l, "#"); ok {
			about = append(about, strings.TrimSpace(text))
		} else if l == "" {
			flush()
		}
	}
	flush()
	p.line(".SH SEE ALSO\n.BR picket (1),\n.BR picketd (8)")
}
