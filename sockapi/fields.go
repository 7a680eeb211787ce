// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// field is what the tags of a request's field say about it, for the body and the query alike.
type field struct {
	name     string
	index    int
	kind     jsonKind
	form     string
	required bool
	min, max int64 // bytes of a string, value of a number, nanoseconds of a duration; max 0: no bound
	items    [2]int
	enum     []string
	doc      string
}

// jsonKind is the JSON type of a field.
type jsonKind string

const (
	kindString  jsonKind = "a string"
	kindInteger jsonKind = "an integer"
	kindBool    jsonKind = "true or false"
	kindStrings jsonKind = "an array of strings"
	kindFacts   jsonKind = "an object"
)

// fieldsOf reads the tags of a request type. It panics on a type that it does not know, when the routes are laid out.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, t.NumField())
	for i := range fields {
		sf := t.Field(i)
		name, option, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := field{name: name, index: i, form: sf.Tag.Get("form"), required: option != "omitempty", doc: sf.Tag.Get("doc")}
		f.min, f.max = tagNumber(sf, "minLength"), tagNumber(sf, "maxLength")
		switch {
		case sf.Type == reflect.TypeFor[json.RawMessage]():
			f.kind, f.max = kindFacts, maxFacts
		case sf.Type == reflect.TypeFor[[]string]():
			f.kind, f.items = kindStrings, [2]int{int(tagNumber(sf, "minItems")), int(tagNumber(sf, "maxItems"))}
		case f.form == formDuration:
			f.kind, f.min, f.max = kindString, tagNumber(sf, "min"), tagNumber(sf, "max")
		case sf.Type.Kind() == reflect.String:
			f.kind = kindString
		case sf.Type.Kind() == reflect.Int:
			f.kind, f.min, f.max = kindInteger, tagNumber(sf, "minimum"), tagNumber(sf, "maximum")
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

// tagNumber reads a tag that is a number or a duration; 0 without the tag.
func tagNumber(sf reflect.StructField, tag string) int64 {
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

// The forms of strings, in the tag form. A string without one is a line: no control characters.
const (
	formText     = "text" // a line feed, a carriage return and a tab may stand in it
	formDuration = "duration"
	formAsset    = "asset"
	formTask     = "task"
	formTicket   = "ticket" // ASSET/TASK
	formTime     = "time"
)
