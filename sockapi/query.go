// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

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
