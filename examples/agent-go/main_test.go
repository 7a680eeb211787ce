// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"net"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		items []string
		limit int
		want  string
	}{
		{nil, 40, ""},
		{[]string{"CVE-1"}, 40, "CVE-1"},
		{[]string{"CVE-1", "CVE-2"}, 40, "CVE-1, CVE-2"},
		{[]string{"CVE-1", "CVE-2", "CVE-3"}, 20, "CVE-1, and 2 more"},
		{[]string{strings.Repeat("é", 40), "CVE-2"}, 40, "and 2 more"},
	} {
		if got := list(c.items, ", ", c.limit); got != c.want {
			t.Errorf("%q in %d bytes are %q, want %q", c.items, c.limit, got, c.want)
		}
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = "CVE-é-44228"
	}
	for _, limit := range []int{maxSummary, maxText, 100, 101} {
		if got := list(many, ", ", limit); len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, " more") {
			t.Errorf("%d bytes in %d: %s", len(got), limit, got)
		}
	}
}

func TestAServiceWithoutAGreetingIsOnline(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if banner, err := look(listener.Addr().String()); err != nil || banner != "" {
		t.Errorf("it is found with %q, %v", banner, err)
	}
}
