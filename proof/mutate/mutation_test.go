// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestEachRuleIsWhereItIsTakenOut: a product that has changed is not mutated any more by an old text, and that must show.
func TestEachRuleIsWhereItIsTakenOut(t *testing.T) {
	t.Parallel()
	names, before := map[string]bool{}, map[string]bool{}
	for _, m := range All() {
		text, err := m.Text(root)
		switch {
		case err != nil:
			t.Error(err)
		case m.Old == m.New:
			t.Errorf("%s: takes nothing out", m.Name)
		case before[m.File+text]:
			t.Errorf("%s: another mutation is the same", m.Name)
		case names[m.Name] || m.Guarantee == "" || m.Why == "":
			t.Errorf("%s: has a name that another has, or lacks its guarantee or reason", m.Name)
		}
		names[m.Name], before[m.File+text] = true, true
	}
	if _, err := Named("none"); err == nil {
		t.Error("there is a mutation of any name")
	}
}

// TestTheMutationsCompile: those in different files at once.
func TestTheMutationsCompile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles much of the product a few times")
	}
	left := slices.DeleteFunc(All(), func(m Mutation) bool { return filepath.Ext(m.File) != ".go" })
	for len(left) > 0 {
		texts, packages, later := map[string]string{}, map[string]bool{}, []Mutation(nil)
		for _, m := range left {
			if _, taken := texts[m.File]; taken {
				later = append(later, m)
				continue
			}
			text, err := m.Text(root)
			if err != nil {
				t.Fatal(err)
			}
			texts[m.File], packages["./"+filepath.Dir(m.File)] = text, true
		}
		flag, err := overlay(root, t.TempDir(), texts)
		if err != nil {
			t.Fatal(err)
		}
		args := slices.AppendSeq([]string{"build", flag}, maps.Keys(packages))
		if err := command(t.Context(), root, args...); err != nil {
			t.Error(err)
		}
		left = later
	}
}

// TestAScriptIsMutatedToo: the overlay holds for what is embedded.
func TestAScriptIsMutatedToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a.lua": "the rule",
		"main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed a.lua\nvar script string\n\nfunc main() { print(script) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flag, err := overlay(dir, t.TempDir(), map[string]string{"a.lua": "without it"})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "m")
	if err := command(t.Context(), dir, "build", flag, "-o", program, "."); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "without it" {
		t.Errorf("the program has %q: %v", out, err)
	}
}
