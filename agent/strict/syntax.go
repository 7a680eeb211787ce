// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package strict

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// mostSyntax is how many errors of syntax are told: a file with more is no TOML.
const mostSyntax = 10

// mostBack is over how many lines the beginning of what cannot be read is looked for: each look reads the document so far.
const mostBack = 100

var (
	headerForm = regexp.MustCompile(`^\s*(\[\[?)\s*([A-Za-z0-9_.-]+)`)
	valueForm  = regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+)\s*=`)
)

// withoutSyntaxErrors is a document without what the parser cannot read. It ends at its first error: that is taken out, up to where
// the next key or table seems to begin, and the rest is read once more. Lines stay where they are.
func withoutSyntaxErrors(doc []byte) (rest []byte, problems []Problem) {
	text := bytes.Split(doc, []byte("\n"))
	for range mostSyntax {
		var syntax *toml.DecodeError
		if err := parse(text); !errors.As(err, &syntax) {
			if err != nil {
				problems = append(problems, Problem{Message: err.Error()})
			}
			break
		}
		at, _ := syntax.Position()
		from := at
		for from > 1 && at-from < mostBack && parse(text[:from-1]) != nil { // what is open since an earlier line begins there
			from--
		}
		key := keyAt(text, from)
		if key == "" {
			key = strings.Join(syntax.Key(), ".")
		}
		problems = append(problems, Problem{Key: key, Line: at, Message: strings.TrimPrefix(syntax.Error(), "toml: ")})
		clear(text[from-1 : endAfter(text, from)])
	}
	return bytes.Join(text, []byte("\n")), problems
}

func parse(text [][]byte) error {
	return toml.Unmarshal(bytes.Join(text, []byte("\n")), &map[string]any{})
}

// endAfter is the last line of what begins in a line: the next ones that seem to begin a key or a table are left, of a table's header
// the next header.
func endAfter(text [][]byte, from int) int {
	end := from
	for end < len(text) && !headerForm.Match(text[end]) && (headerForm.Match(text[from-1]) || !valueForm.Match(text[end])) {
		end++
	}
	return end
}

// keyAt is the path of what begins in a line, as it is told; empty where it cannot be seen.
func keyAt(text [][]byte, at int) string {
	key, tables := "", map[string]int{}
	for i, line := range text[:at] {
		if m := headerForm.FindSubmatch(line); m != nil {
			key = string(m[2])
			if string(m[1]) == "[[" {
				key = fmt.Sprintf("%s[%d]", m[2], tables[string(m[2])])
				tables[string(m[2])]++
			}
		} else if m := valueForm.FindSubmatch(line); m != nil && i == at-1 {
			return strings.TrimPrefix(key+"."+string(m[1]), ".")
		}
	}
	if !headerForm.Match(text[at-1]) {
		return ""
	}
	return key
}
