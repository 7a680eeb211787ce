// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decode checks a body and decodes it into the struct that into points to, whose fields are given.
func decode(body []byte, fields []field, into any) error {
	given, err := membersOf(body)
	if err != nil {
		return err
	}
	var wrong violations
	for _, m := range given {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		switch {
		case i < 0:
			wrong.add(location("body", m.name), unknownField(m.name, fields))
		case !fields[i].kind.matches(m.value):
			wrong.add(location("body", m.name), "must be "+string(fields[i].kind))
		}
	}
	for _, f := range fields {
		if f.required && !slices.ContainsFunc(given, func(m member) bool { return m.name == f.name }) {
			wrong.add(location("body", f.name), "is required")
		}
	}
	if len(wrong) > 0 {
		return wrong.problem()
	}
	v := reflect.ValueOf(into).Elem()
	for _, m := range given {
		f := fields[slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })]
		if !f.decode(v.Field(f.index), m.value) {
			return invalid("body."+f.name, "must be "+string(f.kind))
		}
		f.check(&wrong, "body."+f.name, v.Field(f.index).Interface())
	}
	if len(wrong) > 0 {
		return wrong.problem()
	}
	return nil
}

// decode reads the value of a field, which is valid JSON of its kind by the first byte; false: not by the rest.
func (f field) decode(into reflect.Value, value []byte) bool {
	switch f.kind {
	case kindFacts:
		into.SetBytes(value)
		return true
	case kindString:
		s, err := jsontext.AppendUnquote(nil, value)
		into.SetString(string(s))
		return err == nil
	default:
		return json.Unmarshal(value, into.Addr().Interface()) == nil
	}
}

// unknownField says what would be right instead of a name that no field has.
func unknownField(name string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		if strings.EqualFold(f.name, name) {
			return "is not a field; names are exact: " + f.name
		}
		names[i] = f.name
	}
	if len(names) == 0 {
		return "is not a field; there are none here"
	}
	return "is not a field; known: " + strings.Join(names, ", ")
}

// matches tells by its first byte whether a JSON value is of a kind; the decoder looks at the rest.
func (k jsonKind) matches(value []byte) bool {
	switch c := value[0]; k {
	case kindString:
		return c == '"'
	case kindInteger:
		return c == '-' || c >= '0' && c <= '9'
	case kindBool:
		return c == 't' || c == 'f'
	case kindStrings:
		return c == '['
	default:
		return c == '{'
	}
}
