// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestG5_FactsThatAreEqualAsJSONHaveOneDigest(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{``, `{}`, ` { } `, "{\n}"},
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, "{ \"b\" : [ 1 , 2 ],\r\n\t\"a\":1 }"},
		{`{"A":"A"}`, `{"\u0041":"\u0041"}`},
		{`{"a":"<&>\u2028/"}`, `{"a":"\u003c\u0026\u003e` + "\u2028" + `\/"}`},
		{`{"a":"😀"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\uD83D\uDE00"}`},
		{`{"o":{"x":{"p":1,"q":2},"y":null}}`, `{"o":{"y":null,"x":{"q":2,"p":1}}}`},
	} {
		for _, s := range same {
			if factsDigest("S", json.RawMessage(s)) != factsDigest("S", json.RawMessage(same[0])) {
				t.Errorf("%q differs from %q", s, same[0])
			}
		}
	}
	if factsDigest("S", nil) != factsDigest("S", json.RawMessage(`{}`)) {
		t.Error("no facts differ from {}")
	}
}

func TestG5_FactsThatDifferHaveTwoDigests(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, state := range []State{"S", "T", "ST"} {
		for _, s := range []string{
			`{}`, `[]`, `null`, `{"a":{}}`, `{"a":[]}`, `{"a":null}`, `{"a":""}`, `{"a":0}`, `{"a":-0}`, `{"a":false}`,
			`{"a":1}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":1E0}`, `{"a":10e-1}`, `{"a":"1"}`, `{"A":1}`, `{"a":1,"b":1}`,
			`{"a":12345678901234567}`, `{"a":12345678901234568}`, `{"a":1e400}`, `{"a":1e401}`,
			`{"a":0.1}`, `{"a":0.10000000000000000001}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[[1],2]}`, `{"a":[1,[2]]}`,
			`{"a":"é"}`, `{"a":"e\u0301"}`, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `{"a":" "}`,
		} {
			d := factsDigest(state, json.RawMessage(s))
			if len(d) != 22 {
				t.Fatalf("a digest of %d digits", len(d))
			}
			if other, ok := seen[d]; ok {
				t.Errorf("%s %s has the digest of %s", state, s, other)
			}
			seen[d] = string(state) + " " + s
		}
	}
	if factsDigest("S", json.RawMessage(`{"a":`)) == factsDigest("S", nil) {
		t.Error("what is not JSON has the digest of no facts")
	}
}

// jsonValue is a drawn JSON value, which can be written in many ways.
type jsonValue struct {
	literal string // of a number, true, false, null
	text    *string
	list    []jsonValue
	names   []string // of an object
	members []jsonValue
}

func jsonValueGen(depth int) *rapid.Generator[jsonValue] {
	return rapid.Custom(func(t *rapid.T) jsonValue {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if depth == 0 {
			kind %= 2
		}
		switch kind {
		case 0:
			return jsonValue{literal: rapid.SampledFrom([]string{"0", "1", "1.0", "-1e3", "12345678901234567", "true", "null"}).Draw(t, "literal")}
		case 1:
			s := rapid.String().Draw(t, "text")
			return jsonValue{text: &s}
		case 2:
			return jsonValue{list: rapid.SliceOfN(jsonValueGen(depth-1), 0, 4).Draw(t, "list")}
		}
		return jsonObjectGen(depth).Draw(t, "object")
	})
}

func jsonObjectGen(depth int) *rapid.Generator[jsonValue] {
	return rapid.Custom(func(t *rapid.T) jsonValue {
		names := rapid.SliceOfNDistinct(rapid.StringN(0, 4, -1), 0, 4, rapid.ID[string]).Draw(t, "names")
		return jsonValue{names: names, members: rapid.SliceOfN(jsonValueGen(depth-1), len(names), len(names)).Draw(t, "members")}
	})
}

// write writes the value in one of its ways.
func (v jsonValue) write(t *rapid.T, b *bytes.Buffer) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")) }
	text := func(s string) {
		b.WriteByte('"')
		for _, r := range s {
			switch {
			case r < 0x20 || r == '"' || r == '\\' || r < 0x10000 && rapid.IntRange(0, 4).Draw(t, "escape") == 0:
				fmt.Fprintf(b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
	}
	space()
	switch {
	case v.literal != "":
		b.WriteString(v.literal)
	case v.text != nil:
		text(*v.text)
	case v.names != nil:
		b.WriteByte('{')
		order := make([]int, len(v.names))
		for i := range order {
			order[i] = i
		}
		for i, at := range rapid.Permutation(order).Draw(t, "order") {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			text(v.names[at])
			space()
			b.WriteByte(':')
			v.members[at].write(t, b)
		}
		b.WriteByte('}')
	default:
		b.WriteByte('[')
		for i, e := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			e.write(t, b)
		}
		b.WriteByte(']')
	}
	space()
}

func TestG5_FactsDigestDoesNotDependOnHowTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := jsonObjectGen(3).Draw(t, "facts")
		var one, two bytes.Buffer
		v.write(t, &one)
		v.write(t, &two)
		if !json.Valid(one.Bytes()) {
			t.Fatalf("the test wrote what is not JSON: %s", one.Bytes())
		}
		if factsDigest("S", one.Bytes()) != factsDigest("S", two.Bytes()) {
			t.Fatalf("%s\ndiffers from\n%s", one.Bytes(), two.Bytes())
		}
		changed := v
		changed.names = append(append([]string{}, v.names...), strings.Repeat("x", 5)) // longer than any drawn
		changed.members = append(append([]jsonValue{}, v.members...), jsonValue{literal: strconv.Itoa(len(v.names))})
		var three bytes.Buffer
		changed.write(t, &three)
		if factsDigest("S", one.Bytes()) == factsDigest("S", three.Bytes()) {
			t.Fatalf("%s\nhas the digest of\n%s", one.Bytes(), three.Bytes())
		}
	})
}

func FuzzFactsDigest(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":1.0}`, `{"a":"\u0041"}`, `{"a":`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, facts []byte) {
		canonical := canonicalFacts(facts)
		if again := canonicalFacts(canonical); !bytes.Equal(again, canonical) {
			t.Fatalf("%q becomes %q, which becomes %q", facts, canonical, again)
		}
	})
}
