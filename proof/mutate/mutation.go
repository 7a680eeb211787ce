// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package mutate takes rules out of Picket, one at a time, so that it shows whether the proof would miss them. What is left in the place
// of a rule is small and could have been written by mistake.
package mutate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutation is a rule that is left out.
type Mutation struct {
	Name       string
	Guarantee  string // what is broken then, such as G2
	File       string // from the repository's root; a script that is embedded is as good as Go
	Old        string // the text that occurs once in it
	New        string // what stands in its place
	Why        string // what goes wrong without the rule
	Topologies []string
	Profiles   []string // where it shows; none: everywhere
}

// Text is the file without the rule. root is the repository's.
func (m *Mutation) Text(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), m.Old); n != 1 {
		return "", fmt.Errorf("cannot take %s out of %s: its text occurs %d times, should occur once", m.Name, m.File, n)
	}
	return strings.Replace(string(b), m.Old, m.New, 1), nil
}

// overlay writes what has go see other texts in files, and returns the flag for that.
func overlay(root, dir string, texts map[string]string) (flag string, err error) {
	replace := map[string]string{}
	for file, text := range texts {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	all := filepath.Join(dir, "overlay.json")
	return "-overlay=" + all, os.WriteFile(all, b, 0o600)
}

func command(ctx context.Context, root string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build it: go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
