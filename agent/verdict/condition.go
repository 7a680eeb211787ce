// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/picketd/picket/agent/findings"
)

// beforeIntel is what a condition may name before intelligence was asked.
type beforeIntel struct {
	Asset    string  `expr:"asset"`
	Task     string  `expr:"task"`
	MaxCVSS  float64 `expr:"max_cvss"`
	Number   int     `expr:"number"` // in conditions: count
	Critical int     `expr:"critical"`
	High     int     `expr:"high"`
	Medium   int     `expr:"medium"`
	Low      int     `expr:"low"`
	Info     int     `expr:"info"`
	Unknown  int     `expr:"unknown"`
	Findings []named `expr:"findings"`
}

// afterIntel is what a condition may name afterwards.
type afterIntel struct {
	beforeIntel
	KEV  bool    `expr:"kev"`
	EPSS float64 `expr:"epss"`
}

// named is a finding as conditions name it.
type named struct {
	ID       string   `expr:"id"`
	Severity string   `expr:"severity"`
	CVSS     float64  `expr:"cvss"`
	Title    string   `expr:"title"`
	Package  string   `expr:"package"`
	Location string   `expr:"location"`
	Aliases  []string `expr:"aliases"`
	EPSS     float64  `expr:"epss"`
	KEV      bool     `expr:"kev"`
	FixedIn  string   `expr:"fixed_in"`
}

// Condition is an expression of the configuration that is true or false.
type Condition struct {
	text      string
	withIntel bool
	whole     clause
	operator  string // between the parts: || or &&, or empty when there is one
	parts     []clause
}

// clause is one of the alternatives of a condition (or, without any, one of its demands), for the explanation.
type clause struct {
	text    string
	program *vm.Program
	walks   bool // it looks at the list of findings, not only at the figures
	any     bool // it asks whether one of the findings is so: what holds over some of them holds over all
}

// ErrCut says that a condition cannot be decided over a part of the findings.
var ErrCut = errors.New("the list of findings is cut")

// NewCondition compiles an expression. Without intelligence, kev and epss are not known in it.
func NewCondition(text string, withIntel bool) (*Condition, error) {
	var env any = beforeIntel{}
	if withIntel {
		env = afterIntel{}
	}
	c := &Condition{text: text, withIntel: withIntel}
	program, err := compile(text, env)
	if err != nil {
		return nil, conditionError(err, withIntel)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, conditionError(err, withIntel)
	}
	c.whole = newClause(text, program, tree.Node)
	for _, operators := range [][]string{{"||", "or"}, {"&&", "and"}} {
		if c.parts = nil; len(operands(tree.Node, operators)) < 2 {
			continue
		}
		c.operator = operators[0]
		for _, node := range operands(tree.Node, operators) {
			program, err := compile(node.String(), env)
			if err != nil {
				c.parts, c.operator = nil, ""
				break
			}
			c.parts = append(c.parts, newClause(node.String(), program, node))
		}
		break
	}
	if c.parts == nil {
		c.parts = []clause{c.whole}
	}
	return c, nil
}

func newClause(text string, program *vm.Program, node ast.Node) clause {
	p := clause{text: text, program: program, walks: namesFindings(node)}
	b, ok := node.(*ast.BuiltinNode)
	p.any = ok && b.Name == "any" && !namesFindings(b.Arguments[1])
	return p
}

// namesFindings reports whether the list of findings is named, by itself or by way of the whole environment.
func namesFindings(node ast.Node) bool {
	return ast.Find(node, func(n ast.Node) bool {
		id, ok := n.(*ast.IdentifierNode)
		return ok && (id.Value == "findings" || id.Value == "$env")
	}) != nil
}

func compile(text string, env any) (*vm.Program, error) {
	return expr.Compile(text, expr.Env(env), expr.AsBool(), expr.DisableBuiltin("now"), expr.Patch(countIsNumber{}))
}

// countIsNumber lets count stand for the number of findings, and count(…) for what the language means by it.
type countIsNumber struct{}

// Visit renames count.
func (countIsNumber) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok && id.Value == "count" {
		ast.Patch(node, &ast.IdentifierNode{Value: "number"})
	}
}

func operands(node ast.Node, operators []string) []ast.Node {
	if b, ok := node.(*ast.BinaryNode); ok && slices.Contains(operators, b.Operator) {
		return append(operands(b.Left, operators), operands(b.Right, operators)...)
	}
	return []ast.Node{node}
}

var conditionPlace = regexp.MustCompile(` \(1:(\d+)\)$`)

// conditionError is the library's error on one line, with what there is to be named.
func conditionError(err error, withIntel bool) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	first = conditionPlace.ReplaceAllString(first, " at character $1")
	names := "max_cvss, count, critical, high, medium, low, info, unknown, findings, asset, task"
	if withIntel {
		names = "max_cvss, kev, epss" + strings.TrimPrefix(names, "max_cvss")
	}
	return fmt.Errorf("is not a condition (%s): write one over %s, such as \"max_cvss >= 7\"", first, names)
}

// Holds evaluates the condition. Where it looks at the findings and some are not listed, or at kev and epss and some CVEs could
// not be asked for, it is decided only by what those cannot change; else the error is an errCut.
func (c *Condition) Holds(e Evidence) (bool, error) {
	holds, err := c.decide(e)
	if err != nil || e.unasked == 0 {
		return holds, err
	}
	for _, worse := range []Evidence{e.with(true, 0), e.with(false, 1), e.with(true, 1)} {
		if other, err := c.decide(worse); err != nil || other != holds {
			return false, fmt.Errorf("%w: %d CVEs could not be asked for, and the condition looks at kev or epss: %s",
				ErrCut, e.unasked, adviceOn(e))
		}
	}
	return holds, nil
}

// with is the evidence if intelligence had said this, too, of all that was found.
func (e Evidence) with(kev bool, epss float64) Evidence {
	e.KEV, e.EPSS = e.KEV || kev, max(e.EPSS, epss)
	e.Findings = slices.Clone(e.Findings)
	for i := range e.Findings {
		f := &e.Findings[i]
		f.KEV, f.EPSS = f.KEV || kev, max(f.EPSS, epss)
	}
	return e
}

// adviceOn says what a condition can be decided over although not all is listed.
func adviceOn(e Evidence) string {
	if e.unasked > 0 {
		return "write it over max_cvss, count, critical, high …, or let a command decide"
	}
	return "write it over max_cvss, kev, epss, count, critical, high …, or let a command decide"
}

// decide evaluates the condition over the findings that are listed.
func (c *Condition) decide(e Evidence) (bool, error) {
	if e.left == 0 || !c.whole.walks {
		return c.evaluate(c.whole, e)
	}
	for _, p := range c.parts {
		holds, err := c.evaluate(p, e)
		switch {
		case err != nil:
			return false, err
		case holds && c.operator != "&&" && (p.any || !p.walks):
			return true, nil
		case !holds && c.operator == "&&" && !p.walks:
			return false, nil
		}
	}
	return false, fmt.Errorf("%w: it holds %d of %d, and the condition looks at each: %s", ErrCut, e.Count-e.left, e.Count, adviceOn(e))
}

func (c *Condition) evaluate(p clause, e Evidence) (bool, error) {
	var env any = e.environment().beforeIntel // a program runs on the type that it was compiled for
	if c.withIntel {
		env = e.environment()
	}
	v, err := expr.Run(p.program, env)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, errors.New(conditionPlace.ReplaceAllString(first, " at character $1"))
	}
	return v.(bool), nil // compile saw to it
}

// environment is the evidence as conditions name it.
func (e Evidence) environment() afterIntel {
	k := afterIntel{
		beforeIntel: beforeIntel{
			Asset: e.asset, Task: e.task, MaxCVSS: e.MaxCVSS, Number: e.Count,
			Critical: e.Critical, High: e.High, Medium: e.Medium, Low: e.Low, Info: e.Info, Unknown: e.Unknown,
			Findings: make([]named, len(e.Findings)),
		},
		KEV: e.KEV, EPSS: e.EPSS,
	}
	for i, f := range e.Findings {
		k.Findings[i] = nameOf(f)
	}
	return k
}

func nameOf(f findings.Finding) named {
	return named{f.ID, f.Severity, f.CVSS, f.Title, f.Package, f.Location, f.Aliases, f.EPSS, f.KEV, f.FixedIn}
}
