// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// decodeQuery checks a query and decodes it into the struct that into points to, whose fields are given.
func decodeQuery(raw string, fields []field, into any) error {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil || !utf8.ValidString(raw) {
		return invalid("query", "must be NAME=VALUE pairs, joined by & and percent-encoded")
	}
	var wrong violations
	v := reflect.ValueOf(into).Elem()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values, at := query[name], location("query", name)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			wrong.add(at, unknownField(name, fields))
			continue
		}
		if len(values) > 1 {
			wrong.add(at, "is given twice")
			continue
		}
		fields[i].set(&wrong, at, v.Field(fields[i].index), values[0])
	}
	if len(wrong) > 0 {
		return wrong.problem()
	}
	return nil
}

// set checks one value of a query and puts it into its field.
func (f field) set(wrong *violations, at string, into reflect.Value, value string) {
	switch f.kind {
	case kindBool: // a flag: ?verbose and ?verbose=true are the same
		b, err := strconv.ParseBool(value)
		if err != nil && value != "" {
			wrong.add(at, "must be true or false, or stand alone")
			return
		}
		into.SetBool(b || value == "")
	case kindInteger:
		n, err := strconv.Atoi(value)
		if err != nil {
			wrong.add(at, "must be an integer")
			return
		}
		f.checkNumber(wrong, at, int64(n))
		into.SetInt(int64(n))
	default:
		if !utf8.ValidString(value) {
			wrong.add(at, "must be valid UTF-8")
			return
		}
		f.checkString(wrong, at, value)
		into.SetString(value)
	}
}
