// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Decode reads a document into the struct that into points to, which holds the defaults. It returns the line of every key and
// table by its path, such as lock.ttl or channel[0].url, and what is wrong. When something is, into has the rest of the document,
// so that its values can be looked at, too: Beside adds what is wrong with them. read is false where nothing could be read.
func Decode(doc []byte, into any) (lines map[string]int, problems []Problem, read bool) {
	doc, problems = withoutSyntaxErrors(doc)
	s := newWalk()
	s.over(doc, reflect.TypeOf(into).Elem())
	lines, problems = s.lines, append(problems, s.problems...)
	if err := toml.Unmarshal(s.good(doc), into); err != nil {
		if len(problems) == 0 {
			problems = []Problem{{Message: err.Error()}}
		}
		return lines, problems, false
	}
	return lines, problems, true
}

// Beside adds to what is wrong with a document what is wrong with the values of its rest, but for what may follow from the former:
// it is about the same key, or names it.
func Beside(problems, more []Problem) []Problem {
	all := slices.Clip(problems)
	for _, p := range more {
		if !slices.ContainsFunc(problems, func(first Problem) bool { return first.explains(p) }) {
			all = append(all, p)
		}
	}
	return all
}

func (p Problem) explains(other Problem) bool {
	names := func(word string) bool {
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(other.Message)
	}
	switch dot := strings.LastIndex(p.Key, "."); {
	case p.Key == "":
		return false
	case p.Key == other.Key, strings.HasPrefix(other.Key, p.Key+"."), strings.HasPrefix(other.Key, p.Key+"["):
		return true
	case dot < 0:
		return false
	default:
		table := p.Key[:dot]
		return names(p.Key) || (other.Key == table || strings.HasPrefix(other.Key, table+".")) && names(p.Key[dot+1:])
	}
}

// walk goes over a document beside the decoder, which forgives too much: it takes a key in any case, a bare number for a
// Duration, and [channel] for [[channel]]; and it ends at the first wrong type. The walk finds all of that, with lines.
type walk struct {
	parser   unstable.Parser
	lines    map[string]int // of every key and table, by path
	tables   map[string]int // how many [[…]] there were so far, by path
	problems []Problem
	breaks   []int  // where in the document its lines end
	starts   []int  // the line of each expression
	bad      []bool // something is wrong in it, or with its table
}

// place is a position in the schema: the Go type that stands there, and the path to it.
type place struct {
	t    reflect.Type
	path string
}

// Check is Decode's walk alone, over a document that parses and that is to fit into a struct of type t.
func Check(doc []byte, t reflect.Type) (lines map[string]int, problems []Problem) {
	s := newWalk()
	s.over(doc, t)
	return s.lines, s.problems
}

func newWalk() *walk { return &walk{lines: map[string]int{}, tables: map[string]int{}} }

func (s *walk) over(doc []byte, t reflect.Type) {
	root := place{t: t}
	table, known := root, true
	for i, b := range doc {
		if b == '\n' {
			s.breaks = append(s.breaks, i)
		}
	}
	s.parser.Reset(doc)
	for s.parser.NextExpression() {
		node, before := s.parser.Expression(), len(s.problems)
		s.begin(node)
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, known = s.header(node, root)
		case unstable.KeyValue:
			if known {
				s.keyValue(node, table)
			}
		}
		s.bad = append(s.bad, !known || len(s.problems) > before)
	}
}

// line is where a node stands. The parser's own answer goes over the document each time.
func (s *walk) line(node *unstable.Node) int {
	before, _ := slices.BinarySearch(s.breaks, int(node.Raw.Offset))
	return before + 1
}

// begin notes in which line an expression begins.
func (s *walk) begin(node *unstable.Node) {
	keys := node.Key()
	keys.Next()
	s.starts = append(s.starts, s.line(keys.Node()))
}

// good is a document without the expressions in which something is wrong; what is left keeps its line.
func (s *walk) good(doc []byte) []byte {
	lines := bytes.Split(doc, []byte("\n"))
	for i, start := range s.starts {
		end := len(lines) + 1
		if i+1 < len(s.starts) {
			end = s.starts[i+1]
		}
		if s.bad[i] {
			clear(lines[start-1 : end-1])
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

func (s *walk) header(node *unstable.Node, root place) (place, bool) {
	p, ok := s.resolve(node, root)
	if !ok {
		return p, false
	}
	many := isTables(p.t)
	switch {
	case many && node.Kind == unstable.ArrayTable:
		s.tables[p.path]++
		line := s.lines[p.path]
		p = s.last(p)
		s.lines[p.path] = line
	case many:
		s.problem(p.path, "can stand more than once: write [[%s]]", p.path)
		return p, false
	case node.Kind == unstable.ArrayTable:
		s.problem(p.path, "stands only once: write [%s]", p.path)
		return p, false
	case deref(p.t).Kind() != reflect.Struct:
		s.problem(p.path, "is a value, not a table: write %s", want(p.t))
		return p, false
	}
	return p, true
}

func (s *walk) keyValue(node *unstable.Node, table place) {
	if p, ok := s.resolve(node, table); ok {
		s.value(node.Value(), p)
	}
}

// resolve follows the keys of a header or of a key and value.
func (s *walk) resolve(node *unstable.Node, p place) (place, bool) {
	for keys := node.Key(); keys.Next(); {
		if isTables(p.t) {
			p = s.last(p)
		}
		t := deref(p.t)
		if t.Kind() != reflect.Struct {
			s.problem(p.path, "is a value, not a table: write %s", want(p.t))
			return p, false
		}
		name := string(keys.Node().Data)
		path := strings.TrimPrefix(p.path+"."+name, ".")
		s.lines[path] = s.line(keys.Node())
		f, ok := fieldByKey(t, name)
		if !ok {
			s.problem(path, "is not known: %s", Suggest(name, keysOf(t)))
			return p, false
		}
		p = place{f.Type, path}
	}
	return p, true
}

func (s *walk) value(v *unstable.Node, p place) {
	switch {
	case isDuration(p.t):
		if v.Kind == unstable.Integer || v.Kind == unstable.Float {
			s.problem(p.path, "has no unit: write %q for seconds", string(v.Data)+"s")
		} else if v.Kind != unstable.String {
			s.problem(p.path, "must be %s", want(p.t))
		} else if err := reflect.New(p.t).Interface().(encoding.TextUnmarshaler).UnmarshalText(v.Data); err != nil {
			s.problem(p.path, "%v", err)
		}
	case isTables(p.t) && v.Kind == unstable.Array:
		for items := v.Children(); items.Next(); {
			if items.Node().Kind == unstable.Comment {
				continue
			}
			s.tables[p.path]++
			item := s.last(p)
			s.lines[item.path] = s.lines[p.path]
			s.value(items.Node(), item)
		}
	case p.t.Kind() == reflect.Slice && !isTables(p.t) && v.Kind == unstable.Array:
		kind := unstable.String
		if p.t.Elem().Kind() == reflect.Int {
			kind = unstable.Integer
		}
		for items := v.Children(); items.Next(); {
			if k := items.Node().Kind; k != kind && k != unstable.Comment {
				s.problem(p.path, "must be %s", want(p.t))
				return
			}
		}
	case deref(p.t).Kind() == reflect.Struct && v.Kind == unstable.InlineTable:
		for pairs := v.Children(); pairs.Next(); {
			if pairs.Node().Kind == unstable.KeyValue {
				s.keyValue(pairs.Node(), p)
			}
		}
	case p.t == reflect.TypeFor[Date]() && v.Kind == unstable.LocalDate,
		p.t.Kind() == reflect.String && v.Kind == unstable.String,
		p.t.Kind() == reflect.Int && v.Kind == unstable.Integer,
		p.t.Kind() == reflect.Bool && v.Kind == unstable.Bool:
	default:
		s.problem(p.path, "must be %s", want(p.t))
	}
}

// last is the table of the [[…]] that is being read.
func (s *walk) last(p place) place {
	return place{p.t.Elem(), fmt.Sprintf("%s[%d]", p.path, s.tables[p.path]-1)}
}

func (s *walk) problem(key, format string, args ...any) {
	s.problems = append(s.problems, Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

func isTables(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func fieldByKey(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && f.Tag.Get("toml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("toml"); f.IsExported() && key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func isDuration(t reflect.Type) bool {
	return t == reflect.TypeFor[Duration]() || t == reflect.TypeFor[OrNone]()
}

// want says in words what stands at a place of type t.
func want(t reflect.Type) string {
	switch {
	case isDuration(t):
		return `a string with a unit, such as "30s"`
	case t == reflect.TypeFor[Date]():
		return "a date without quotes, such as 2027-01-31"
	case isTables(t):
		return "tables, each under its own [[…]]"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return "a list of whole numbers, such as [1, 2]"
	case t.Kind() == reflect.Slice:
		return `a list of strings, such as ["one", "two"]`
	case deref(t).Kind() == reflect.Struct:
		return "a table"
	case t.Kind() == reflect.Int:
		return "a whole number without quotes"
	case t.Kind() == reflect.Bool:
		return "true or false without quotes"
	}
	return "a string in quotes"
}
