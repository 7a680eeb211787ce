// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// oneOf is a flag that takes some of a few words, separated by commas.
func oneOf(flags *flag.FlagSet, name string, all []string, usage string) *[]string {
	chosen := all
	flags.Func(name, fmt.Sprintf("%s: some of %s, separated by commas; all", usage, strings.Join(all, " ")), func(s string) error {
		chosen = strings.Split(s, ",")
		for _, word := range chosen {
			if !slices.Contains(all, word) {
				return fmt.Errorf("%q is none of %s", word, strings.Join(all, " "))
			}
		}
		return nil
	})
	return &chosen
}

// folder is the one that was named, or a new one.
func folder(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	return os.MkdirTemp("", "picket-proof-")
}
