// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is what the tags of a request's field say about it, for the body and the query alike.
type field struct {
	name     string
	index    int
	kind     kind
	form     string
	required bool
	min, max int64 // bytes of a string, value of a number, nanoseconds of a duration; max 0: no bound
	items    [2]int
	enum     []string
	doc      string
}

// kind is the JSON type of a field.
type kind string

const (
	kindString  kind = "a string"
	kindInteger kind = "an integer"
	kindBool    kind = "true or false"
	kindStrings kind = "an array of strings"
	kindFacts   kind = "an object"
)

// fieldsOf reads the tags of a request type. It panics on a type that it does not know, when the routes are laid out.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, t.NumField())
	for i := range fields {
		sf := t.Field(i)
		name, option, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := field{name: name, index: i, form: sf.Tag.Get("form"), required: option != "omitempty", doc: sf.Tag.Get("doc")}
		f.min, f.max = number(sf, "minLength"), number(sf, "maxLength")
		switch {
		case sf.Type == reflect.TypeFor[json.RawMessage]():
			f.kind, f.max = kindFacts, maxFacts
		case sf.Type == reflect.TypeFor[[]string]():
			f.kind, f.items = kindStrings, [2]int{int(number(sf, "minItems")), int(number(sf, "maxItems"))}
		case f.form == formDuration:
			f.kind, f.min, f.max = kindString, number(sf, "min"), number(sf, "max")
		case sf.Type.Kind() == reflect.String:
			f.kind = kindString
		case sf.Type.Kind() == reflect.Int:
			f.kind, f.min, f.max = kindInteger, number(sf, "minimum"), number(sf, "maximum")
		case sf.Type.Kind() == reflect.Bool:
			f.kind = kindBool
		default:
			panic("sockapi: no rule for the type of " + t.Name() + "." + sf.Name)
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, ",")
		}
		fields[i] = f
	}
	return fields
}

// number reads a tag that is a number or a duration; 0 without the tag.
func number(sf reflect.StructField, tag string) int64 {
	text := sf.Tag.Get(tag)
	if text == "" {
		return 0
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("sockapi: the tag " + tag + " of " + sf.Name + " is neither a number nor a duration")
	}
	return int64(d)
}

// decode checks a body and decodes it into the struct that into points to, whose fields are given.
func decode(body []byte, fields []field, into any) error {
	given, err := members(body)
	if err != nil {
		return err
	}
	var wrong violations
	for _, m := range given {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		switch {
		case i < 0:
			wrong.add(location("body", m.name), unknown(m.name, fields))
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
		s, err := unquote(value)
		into.SetString(s)
		return err == nil
	default:
		return json.Unmarshal(value, into.Addr().Interface()) == nil
	}
}

// unknown says what would be right instead of a name that no field has.
func unknown(name string, fields []field) string {
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
func (k kind) matches(value []byte) bool {
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
