// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/picketd/picket/agent/plain"
)

// maxTemplate bounds a text of a rule with places for arguments, in bytes.
const maxTemplate = 1024

type sarifText struct {
	Text     text `json:"text"`
	Markdown text `json:"markdown"`
}

// sarifMessage is a text, or the id of one that the rule has, or its component for all rules, with what stands in its places.
type sarifMessage struct {
	sarifText
	ID        text  `json:"id"`
	Arguments texts `json:"arguments"`
}

// message is what is kept of a sarifMessage.
type message struct {
	text, id  string
	arguments []string
}

// reference is text that leads to a location of the result (SARIF 2.1.0, section 3.11.6).
var reference = regexp.MustCompile(`\[([^\[\]]+)\]\([0-9]+\)`)

func (m sarifMessage) message() message {
	text := plain.Line(first(string(m.Text), string(m.Markdown)), maxTemplate)
	kept := message{text: reference.ReplaceAllString(text, "$1"), id: plain.Line(string(m.ID), maxID)}
	for _, a := range m.Arguments[:min(len(m.Arguments), 32)] {
		kept.arguments = append(kept.arguments, plain.Line(a, maxTitle))
	}
	return kept
}

// plainMessages are the texts of a rule or a component, by their ids.
func plainMessages(all map[string]sarifText) map[string]string {
	if len(all) == 0 {
		return nil
	}
	texts := map[string]string{}
	for id, t := range all {
		texts[id] = plain.Line(first(string(t.Text), string(t.Markdown)), maxTemplate)
	}
	return texts
}

// filled puts arguments into the places {0}, {1} and so on of a text, in which {{ and }} stand for braces. A text without
// arguments is left as it is: few tools double its braces.
func filled(s string, arguments []string) string {
	if len(arguments) == 0 {
		return s
	}
	var b strings.Builder
	for s != "" && b.Len() <= maxTemplate {
		switch {
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			b.WriteByte(s[0])
			s = s[2:]
			continue
		case s[0] == '{':
			inner, rest, ok := strings.Cut(s[1:], "}")
			if i, err := strconv.Atoi(inner); ok && err == nil && i >= 0 && i < len(arguments) {
				b.WriteString(arguments[i])
				s = rest
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}
