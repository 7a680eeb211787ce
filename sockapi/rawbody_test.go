// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/picketd/picket/sockapi/client"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                                  "",
		" \t\r\n{ } \n":                       "",
		`{"a":1}`:                             "a=1;",
		`{"a":-1.5e3 , "b" : [ ] }`:           "a=-1.5e3;b=[ ];",
		`{"a":"}{][\",\\","b":{"c":[{},[]]}}`: `a="}{][\",\\";b={"c":[{},[]]};`,
		`{"a\"b":null,"":true}`:               `a"b=null;=true;`,
		`{"a":{"x":1},"b":{"x":1}}`:           `a={"x":1};b={"x":1};`,
		`{"a":"\ud83e\udd8a","\ud83e\udd8a":"\\ud800"}`: `a="\ud83e\udd8a";🦊="\\ud800";`,
		`{"A":1,"a":2}`: "A=1;a=2;",
	} {
		got, err := membersOf([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var b strings.Builder
		for _, m := range got {
			b.WriteString(m.name + "=" + string(m.value) + ";")
		}
		if b.String() != want {
			t.Errorf("%s: got %s, want %s", body, b.String(), want)
		}
	}
}

// FuzzRawBody compares the pass with the standard decoder: what it lets through is one JSON object that says the same to
// everybody.
func FuzzRawBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":"\ud800"}`, `{"a":"\ud83e\udd8a"}`, `[]`, `{}{}`, `{"\u0061":1,"a":2}`,
		`{"a":[{"b":[1,2.0,-3e4,true,false,null,"x"]}]}`, "{\"a\":\"\xff\"}", `{"asset":"a","task":"t","pid":1}`, nested(64), nested(70), `{"a":"\\\""}`,
	} {
		f.Add([]byte(seed))
	}
	fields := fieldsOf(reflect.TypeFor[client.ClaimRequest]())
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := membersOf(body)
		var p *client.Problem
		if err != nil {
			if !errors.As(err, &p) || p.Code != client.BadRequest && p.Code != client.Invalid {
				t.Fatalf("%q: %v is no problem", body, err)
			}
			return
		}
		var all map[string]json.RawMessage
		if !utf8.Valid(body) || json.Unmarshal(body, &all) != nil {
			t.Fatalf("%q was let through", body)
		}
		if len(all) != len(got) {
			t.Fatalf("%q has %d members, not %d", body, len(all), len(got))
		}
		for _, m := range got {
			if !bytes.Equal(all[m.name], m.value) {
				t.Fatalf("%q: %q is %q, not %q", body, m.name, all[m.name], m.value)
			}
		}
		if depth := depthOf(t, body); depth > maxLevels+1 {
			t.Fatalf("%q is %d levels deep", body, depth)
		}
		var r client.ClaimRequest
		if decode(body, fields, &r) == nil && (r.Asset == "" || r.Task == "" || r.PID < 0 || duration(r.Wait) < 0) {
			t.Fatalf("%q was decoded to %+v", body, r)
		}
	})
}

// depthOf counts levels with the standard decoder's tokens, and fails on a name that stands twice in an object.
func depthOf(t *testing.T, body []byte) (deepest int) {
	type level struct {
		names map[string]bool
		key   bool
	}
	var stack []*level
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return deepest
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(stack) > 0 {
			if in := stack[len(stack)-1]; in.names != nil && token != json.Delim('}') {
				if name, ok := token.(string); ok && in.key {
					if in.names[name] {
						t.Fatalf("%q has %q twice", body, name)
					}
					in.names[name] = true
				}
				in.key = !in.key
			}
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, &level{map[string]bool{}, true})
		case json.Delim('['):
			stack = append(stack, &level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		deepest = max(deepest, len(stack))
	}
}

// TestManyNames: a body full of names costs no more than it is long.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"facts":{"x":1`)
	for i := 0; b.Len() < maxFacts-20; i++ {
		b.WriteString(`,"` + strings.Repeat("n", i%7) + string(rune('a'+i%26)) + strconv.Itoa(i) + `":1`)
	}
	b.WriteString(`}}`)
	if _, err := membersOf([]byte(b.String())); err != nil {
		t.Error(err)
	}
}

// BenchmarkMembers is the pass over the body of a step as agents send it.
func BenchmarkMembers(b *testing.B) {
	body := []byte(`{"step":"vuln","state":"VULN_CHECK_DONE","facts":{"cve":["CVE-2026-0001"],"cvss":9.8},"summary":"one finding"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := membersOf(body); err != nil {
			b.Fatal(err)
		}
	}
}
