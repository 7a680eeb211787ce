// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/picketd/picket/agent/findings"
)

// madeUp is a host that does not exist, to try conditions on.
type madeUp struct {
	name string
	Evidence
}

// MadeUpHosts are a host of which nothing was found, some of which one thing was, and the worst of all.
func MadeUpHosts() []madeUp {
	host := func(name string, all ...findings.Finding) madeUp {
		findings.Sort(all)
		return madeUp{name, Evidence{Figures: figuresOf(all), asset: "x", task: "x", Findings: all}}
	}
	one := func(severity string, cvss float64) findings.Finding {
		return findings.Finding{
			ID: "CVE-2021-44228", Severity: severity, CVSS: cvss, Title: "a title", Package: "package 1.0", Location: "/a/place", Aliases: []string{"GHSA-jfh8-c2jp-5v3q"},
		}
	}
	exploited, likely := one("medium", 5), one("medium", 5)
	exploited.KEV, likely.EPSS, likely.FixedIn = true, 0.9, "1.1"
	hosts := []madeUp{
		host("of which nothing was found"),
		host("of which an open port was found", one("info", 0)),
		host("with a finding of unknown severity and no score", one("unknown", 0)),
		host("with a finding of low severity", one("low", 2)),
		host("with a finding of medium severity", one("medium", 5)),
		host("with a finding of high severity", one("high", 8)),
		host("with a finding of critical severity", one("critical", 9.8)),
		host("with a finding that is known to be exploited", exploited),
		host("with a finding that is likely to be exploited", likely),
	}
	var all []findings.Finding
	for i := range 200 {
		for severity, cvss := range map[string]float64{"info": 0, "unknown": 0, "low": 3.9, "medium": 6.9, "high": 8.9, "critical": 10} {
			f := one(severity, cvss)
			f.KEV, f.EPSS = true, 1
			if i%2 == 0 {
				f.FixedIn = "1.1"
			}
			all = append(all, f)
		}
	}
	worst := host("with the worst of all", all...)
	const many = 100_000
	worst.graver(Figures{Count: 6 * many, Critical: many, High: many, Medium: many, Low: many, Info: many, Unknown: many})
	return append(hosts, worst)
}

// looksForNames reports whether a condition looks for something that a made-up host cannot have by chance: an asset, a task, an
// id, a title, a package, a place.
func looksForNames(text string) bool {
	tree, err := parser.Parse(text)
	return err == nil && ast.Find(tree.Node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IdentifierNode:
			return n.Value == "asset" || n.Value == "task" || n.Value == "$env"
		case *ast.MemberNode:
			name, ok := n.Property.(*ast.StringNode)
			switch {
			case !ok:
				return false
			case name.Value == "id", name.Value == "title", name.Value == "package", name.Value == "location", name.Value == "aliases":
				return true
			}
		}
		return false
	}) != nil
}

// Try says what is wrong with a condition by what it comes to on made-up hosts: that it fails, or that it, or one of its
// alternatives, never or always holds.
func (c *Condition) Try(hosts []madeUp) string {
	wrong := c.tryClause(c.whole, hosts)
	if c.operator != "||" || wrong != "" {
		return wrong
	}
	for _, p := range c.parts {
		if wrong := c.tryClause(p, hosts); wrong != "" {
			return fmt.Sprintf("has a part, %s, that %s", p.text, wrong)
		}
	}
	return ""
}

func (c *Condition) tryClause(p clause, hosts []madeUp) string {
	held := 0
	for _, h := range hosts {
		holds, err := c.evaluate(p, h.Evidence)
		if err != nil {
			return fmt.Sprintf("fails on a host %s: %v", h.name, err)
		}
		if holds {
			held++
		}
	}
	switch {
	case held == 0 && !looksForNames(p.text):
		return fmt.Sprintf("never holds, not even of a host %s: severities are written small, cvss goes to 10, epss to 1", hosts[len(hosts)-1].name)
	case held == len(hosts):
		return fmt.Sprintf("always holds, even of a host %s", hosts[0].name)
	}
	return ""
}
