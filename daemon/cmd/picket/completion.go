// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	_ "embed"
	"io"

	"github.com/urfave/cli/v2"
)

//go:embed completion.bash
var bashCompletion string

//go:embed completion.zsh
var zshCompletion string

//go:embed completion.fish
var fishCompletion string

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for a shell",
		ArgsUsage:   "bash|zsh|fish",
		Description: "For bash: source <(picket completion bash). For zsh: the same. For fish: picket completion fish | source.",
		Action: func(c *cli.Context) error {
			args, err := positionals(c, 1)
			if err != nil {
				return err
			}
			var script string
			switch args[0] {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				script = fishCompletion
			default:
				err = usagef(c, "there is no completion for %q", args[0])
			}
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
}
