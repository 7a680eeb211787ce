// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package mutate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// All are the mutations.
func All() []Mutation { return slices.Concat(claims, writes, notifications, told, recorded) }

// Named is the mutation of that name.
func Named(name string) (Mutation, error) {
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
	}
	return Mutation{}, fmt.Errorf("there is no mutation %q", name)
}

// Build builds the command picket without the rule of that name, as the file out. root is the repository's, which stays as it is.
func Build(ctx context.Context, root, name, out string) error {
	dir, err := os.MkdirTemp("", "picket-mutation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := Named(name)
	if err != nil {
		return err
	}
	text, err := m.Text(root)
	if err != nil {
		return err
	}
	flag, err := overlay(root, dir, map[string]string{m.File: text})
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	return command(ctx, root, "build", flag, "-o", out, "./daemon/cmd/picket")
}
