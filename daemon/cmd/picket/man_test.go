// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// manual is a page as roff.
func manual(t *testing.T, name, stdin string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := runs([]string{"picket", "man", name}, strings.NewReader(stdin), &out, &errs); code != 0 {
		t.Fatalf("%d %s", code, &errs)
	}
	return out.String()
}

func TestTheManualHasEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	text := manual(t, "picket.1", "")
	var walk func(path string, list []*cli.Command)
	walk = func(path string, list []*cli.Command) {
		for _, c := range list {
			if c.Hidden {
				if strings.Contains(text, `.SS "`+path+" "+roff(c.Name)) {
					t.Errorf("%s is hidden, and in the manual", c.Name)
				}
				continue
			}
			if len(c.Subcommands) > 0 {
				walk(path+" "+c.Name, c.Subcommands)
				continue
			}
			_, section, found := strings.Cut(text, `.SS "`+strings.TrimSpace(roff(path+" "+c.Name+" "+c.ArgsUsage))+"\"\n")
			section, _, _ = strings.Cut(section, "\n.S")
			if !found {
				t.Errorf("%s %s is not in the manual", path, c.Name)
			}
			for _, f := range c.Flags {
				for _, name := range f.Names() {
					if !strings.Contains(section, `\fB`+roff(flagText(name))+`\fR`) {
						t.Errorf("%s %s has no --%s in the manual", path, c.Name, name)
					}
				}
			}
		}
	}
	walk("picket", newApp().Commands)
	if daemon := manual(t, "picketd.8", ""); !strings.Contains(daemon, `\fB\-\-check\fR`) {
		t.Error("picketd(8) has no --check")
	}
}

// What stands in a line of roff must not be taken for a request of its own.
func TestTheManualOfTheConfigurationHasEveryKey(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../packaging/picket.toml")
	if err != nil {
		t.Fatal(err)
	}
	text := manual(t, "picket.toml.5", string(doc))
	keys := regexp.MustCompile(`(?m)^# ?([a-z_]+) = (.*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(keys) < 40 {
		t.Errorf("the example has %d keys", len(keys))
	}
	for _, m := range keys {
		if !strings.Contains(text, ".B "+m[1]+"\n") || !strings.Contains(text, roff(m[2])) {
			t.Errorf("%s = %s is not in the manual", m[1], m[2])
		}
	}
	for _, l := range strings.Split(text, "\n") {
		if (strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'")) && !regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|BR|I|RI)( |$)`).MatchString(l) {
			t.Errorf("roff takes this for a request: %s", l)
		}
	}
}
