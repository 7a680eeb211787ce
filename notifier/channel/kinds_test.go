// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/strict"
)

// TestEveryTypeRefusesTheKeysOfOthers sets every key of a channel, one at a time, on every type.
func TestEveryTypeRefusesTheKeysOfOthers(t *testing.T) {
	t.Parallel()
	forAll := []string{"name", "type", "timeout", "at_most_once", "min_severity", "flows", "rate"}
	for _, k := range kinds {
		for f := range reflect.TypeFor[Config]().Fields() {
			key := f.Tag.Get("toml")
			c := Config{Name: "ops", Type: k.name}
			switch v := reflect.ValueOf(&c).Elem().FieldByIndex(f.Index); {
			case key == "name" || key == "type":
				continue
			case v.Kind() == reflect.String:
				v.SetString("/x")
			case v.Kind() == reflect.Slice:
				v.Set(reflect.ValueOf([]string{"/x"}))
			case v.Kind() == reflect.Bool:
				v.SetBool(true)
			default:
				v.SetInt(1000)
			}
			others := slices.ContainsFunc(c.Check(onDisk{}), func(p strict.Problem) bool {
				return p.Key == key && strings.Contains(p.Message, "take it away") && strings.HasPrefix(p.Message, "is for type")
			})
			if known := slices.Contains(forAll, key) || slices.Contains(k.keys, key); others == known {
				t.Errorf("%s: %s is refused: %t, want %t", k.name, key, others, !known)
			}
		}
	}
}

// TestEveryKeyOfARowIsOne: a row with a key that is misspelt would let it pass on all types.
func TestEveryKeyOfARowIsOne(t *testing.T) {
	t.Parallel()
	var keys []string
	for f := range reflect.TypeFor[Config]().Fields() {
		keys = append(keys, f.Tag.Get("toml"))
	}
	for _, k := range kinds {
		for _, key := range k.keys {
			if !slices.Contains(keys, key) {
				t.Errorf("%s: there is no key %q", k.name, key)
			}
		}
	}
}

// stale are files that need not be there yet.
type stale struct{}

func (stale) Secret(string) (string, error)   { return "", ErrUnread }
func (stale) Template(string) (string, error) { return "", ErrUnread }

func TestWhatIsNotReadIsNoProblemAndNoChannel(t *testing.T) {
	t.Parallel()
	c := Config{Name: "ops", Type: "dingtalk", URLFile: "url", SecretFile: "secret", ProxyFile: "proxy", TemplateFile: "template"}
	if problems := c.Check(stale{}); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	if _, problems := New(c, Env{Files: stale{}}); len(problems) != 1 || problems[0].Message != ErrUnread.Error() {
		t.Errorf("as a channel: %v", problems)
	}
	c.Language = "fr"
	if problems := c.Check(stale{}); len(problems) != 1 || problems[0].Key != "language" {
		t.Errorf("%v", problems)
	}
	missing := errors.New("open url: no such file")
	if problems := c.Check(failing{missing}); len(problems) != 5 || problems[0].Message != missing.Error() {
		t.Errorf("%v", problems)
	}
}

// failing are files that cannot be read.
type failing struct{ err error }

func (b failing) Secret(string) (string, error)   { return "", b.err }
func (b failing) Template(string) (string, error) { return "", b.err }

func TestWhatIsMaskedShowsNoSecret(t *testing.T) {
	t.Parallel()
	c := Config{URL: "https://h.example/hunter2", Proxy: "http://hunter2@p:1", Command: []string{"/bin/page", "hunter2"}}
	got := c.Masked()
	if got.URL != "https://h.example/…" || got.Proxy != "…" || !slices.Equal(got.Command, []string{"/bin/page", "…"}) {
		t.Errorf("%+v", got)
	}
}
