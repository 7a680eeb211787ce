// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"slices"
	"testing"
)

func asset(s string) values { return values{Asset: s, Task: "w48", Ticket: s + "/w48"} }

func TestAnAssetStaysWithinItsArgument(t *testing.T) {
	t.Parallel()
	c, err := newCommand([]string{"scan", "-u", "https://{{.Asset}}/", "{{.Asset}}", "{{.Ticket}}"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"web-01", "a b", `"; rm -rf / #`, "$(id)", "{{.Task}}", "名", "a\tb"} {
		got, err := c.fill(asset(a))
		if want := []string{"scan", "-u", "https://" + a + "/", a, a + "/w48"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", a, got, err)
		}
	}
}

func TestAnAssetIsNoOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv  []string
		asset string
		good  bool
	}{
		{[]string{"scan", "{{.Asset}}"}, "web-01", true},
		{[]string{"scan", "{{.Asset}}"}, "-oX", false},
		{[]string{"scan", "{{.Asset}}:443"}, "--script=x", false},
		{[]string{"scan", "--", "{{.Asset}}"}, "-oX", true},
		{[]string{"scan", "{{.Asset}}", "--"}, "-oX", false},
		{[]string{"scan", "--target={{.Asset}}"}, "-oX", true},
		{[]string{"scan", "-u{{.Asset}}"}, "-oX", true},
		{[]string{"scan", "{{.Asset}}", "{{.Asset}}"}, "--", false},
		{[]string{"sh", "-c", "scan {{.Asset}}"}, "web-01.example.com:443", true},
		{[]string{"sh", "-c", "scan {{.Asset}}"}, "a;id", false},
		{[]string{"/bin/bash", "-ec", "scan '{{.Asset}}'"}, "a'b", false},
		{[]string{"sh", "-c", `scan "$1"`, "sh", "{{.Asset}}"}, "a;id", true},
	} {
		command, err := newCommand(c.argv)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := command.fill(asset(c.asset)); (err == nil) != c.good {
			t.Errorf("%q with %q: %v", c.argv, c.asset, err)
		}
	}
}

func TestAnAssetDoesNotLeadOutOfTheFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, asset, want string }{
		{"/r/{{.Asset}}.json", "web-01", "/r/web-01.json"},
		{"/r/{{.Task}}/{{.Asset}}", "a b", "/r/w48/a b"},
		{"../r/{{.Asset}}.json", "web-01", "../r/web-01.json"},
		{"/r/{{.Asset}}.json", "a..b", "/r/a..b.json"},
		{"/r/{{.Asset}}.json", "../etc/x", ""},
		{"/r/{{.Asset}}.json", "a/b", ""},
		{"/r/{{.Asset}}/x.json", "a/../..", ""},
		{"/r/.{{.Asset}}/x", "..", "/r/.../x"},
		{"/r/{{slice .Asset 0 1}}/x", ".x", ""},
		{"/r/{{.Asset}}{{.Asset}}/x", ".", ""},
	} {
		f, err := newFilePath(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.fill(asset(c.asset)); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %q: %q, %v", c.file, c.asset, got, err)
		}
	}
}
