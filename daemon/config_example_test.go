// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/picketd/picket/agent/strict"
)

// In the example, what is the default stands behind a bare #, and what is only an example behind "# ".
func TestTheExampleConfigurationIsTheDefaults(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "")
	doc, err := os.ReadFile("../packaging/picket.toml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(t, string(doc))
	c.path = ""
	if err != nil || !reflect.DeepEqual(c, DefaultConfig()) {
		t.Errorf("as it is, it is not the defaults: %v\n%s", err, c)
	}

	seen := map[string]bool{}
	uncomment := regexp.MustCompile(`(?m)^#([a-z_]+ = .*)$`)
	c, lines, problems, _ := parseConfig(uncomment.ReplaceAll(doc, []byte("$1")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c.adminGroupSet, c.Socket.groupSet = false, false
	if want := DefaultConfig(); !reflect.DeepEqual(c, want) {
		t.Errorf("its defaults are\n%s\nwant\n%s", c, want)
	}
	for key := range lines {
		seen[key] = true
	}

	example := regexp.MustCompile(`(?m)^# ?((\[\[channel\]\]|[a-z_]+ = .*))$`)
	_, lines, problems, _ = parseConfig(example.ReplaceAll(doc, []byte("$1")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for key := range lines {
		seen[strings.Replace(key, "[0]", "", 1)] = true
	}
	for key := range keysBelow(reflect.TypeFor[Config](), "") {
		if !seen[key] {
			t.Errorf("%s is missing in the example", key)
		}
	}
}

// keysBelow are the paths of all keys of a table.
func keysBelow(t reflect.Type, path string) map[string]bool {
	keys := map[string]bool{}
	for f := range t.Fields() {
		key := f.Tag.Get("toml")
		if key == "" {
			continue
		}
		keys[path+key] = true
		ft := f.Type
		if ft.Kind() == reflect.Pointer || ft.Kind() == reflect.Slice {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Struct {
			for k := range keysBelow(ft, path+key+".") {
				keys[k] = true
			}
		}
	}
	return keys
}

// Whatever stands in the file, it is refused with a word or it is a configuration.
func FuzzConfig(f *testing.F) {
	doc, err := os.ReadFile("../packaging/picket.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	for _, s := range []string{"lock.ttl = 3", "[[channel]]\nname = [1]", "channel = [{ name = \"a\" }, 3]", "redis = { tls = {} }", "[redis.tls]", "a.b.c = 1", "[channel.x]", "[[redis.addrs]]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, _, problems, _ := parseConfig(doc)
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("a problem without a word at %q", p.Key)
			}
		}
		if len(problems) == 0 {
			_ = c.String()
		}
		// What the decoder would still refuse after the walk would be refused in its words, not in ours.
		if toml.Unmarshal(doc, &map[string]any{}) == nil {
			if _, problems := strict.Check(doc, reflect.TypeFor[Config]()); len(problems) == 0 {
				if err := toml.Unmarshal(doc, &c); err != nil {
					t.Errorf("the walk lets pass: %v", err)
				}
			}
		}
	})
}
