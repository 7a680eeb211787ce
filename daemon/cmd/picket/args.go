// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
)

// arrange moves flags in front of the positionals, up to the first --, because the flag parser takes a flag behind a
// positional for another positional, without a word. What follows -- stays as it is, with -- in front of it. "help COMMAND"
// becomes "COMMAND --help", and "--version" the command of that name. A flag that the command does not have is refused here, where it is known how it was typed.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if len(args) > 1 && args[1] == "help" {
		args = append(slices.Delete(slices.Clone(args), 1, 2), "--help")
	}
	if len(args) > 1 && args[1] == "--version" {
		args = slices.Replace(slices.Clone(args), 1, 2, "version")
	}
	path, commands := []string{app.Name}, app.Commands
	group := true // path is one of commands
	takesValue := map[string]bool{}
	addFlags(takesValue, append(clientFlags(), app.Flags...)) // so that --socket may also stand before the command
	var flags, typed, positionals, rest []string
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = args[i:]
			break
		}
		if (arg == "--help" || arg == "-h") && group && len(positionals) > 0 {
			break // there is no such command
		}
		if arg == "--help" || arg == "-h" {
			return append(path, "--help"), nil
		}
		if len(arg) > 1 && arg[0] == '-' {
			flags, typed = append(flags, arg), append(typed, arg)
			name := strings.TrimPrefix(arg[1:], "-")
			if !takesValue[name] {
				continue
			}
			if i+1 == len(args) || args[i+1] == "--" {
				return nil, exitf(exitUsage, "%s needs a value; see %s --help", arg, strings.Join(path, " "))
			}
			i++
			flags = append(flags, args[i])
			continue
		}
		if c := findCommand(commands, arg); c != nil {
			path, commands, group = append(path, arg), c.Subcommands, len(c.Subcommands) > 0
			addFlags(takesValue, c.Flags)
			continue
		}
		commands = nil
		positionals = append(positionals, arg)
	}
	if flag := unknown(typed, takesValue); flag != "" {
		hint := ""
		if path[len(path)-1] == "exec" && len(positionals) > 2 && len(rest) == 0 {
			hint = ", and -- is missing before the command"
		}
		return nil, exitf(exitUsage, "there is no flag %s%s; see %s --help", flag, hint, strings.Join(path, " "))
	}
	out := slices.Concat(path, flags)
	if len(positionals)+len(rest) > 0 {
		out = slices.Concat(out, []string{"--"}, positionals, rest)
	}
	return out, nil
}

// unknown returns the first flag that is not among the known ones, or nothing.
func unknown(typed []string, known map[string]bool) string {
	for _, arg := range typed {
		flag, _, _ := strings.Cut(arg, "=")
		if _, ok := known[strings.TrimPrefix(flag[1:], "-")]; !ok {
			return flag
		}
	}
	return ""
}

func addFlags(takesValue map[string]bool, flags []cli.Flag) {
	for _, f := range flags {
		for _, name := range f.Names() {
			takesValue[name] = f.(cli.DocGenerationFlag).TakesValue()
		}
	}
}

func findCommand(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// split returns what stands before and behind the first -- of a command's arguments; found says whether there was one.
func split(c *cli.Context) (before, behind []string, found bool) {
	args := c.Args().Slice()
	i := slices.Index(args, "--")
	if i < 0 {
		return args, nil, false
	}
	return args[:i], args[i+1:], true
}

// arguments are all of a command's, before and behind --.
func arguments(c *cli.Context) []string {
	before, behind, _ := split(c)
	return slices.Concat(before, behind)
}

// checkUsage refuses what a command cannot do without, or with: another number of arguments than its ArgsUsage has words, and
// empty flags. What ArgsUsage tells of a ticket, or of more than words, the command looks at itself.
func checkUsage(c *cli.Context) error {
	flag := func(name string) bool { return findFlag(c.Command.Flags, name) != nil && c.String(name) == "" }
	switch usage := c.Command.ArgsUsage; {
	case c.IsSet("socket") && flag("socket"):
		return usagef(c, "--socket or PICKET_SOCKET is empty: it must be the path of the daemon's socket")
	case usage == "ASSET TASK":
		if _, _, err := ticketArgs(c); err != nil {
			return err
		}
	case !strings.HasPrefix(usage, "ASSET ") && !strings.Contains(usage, "["):
		if err := takes(c, len(strings.Fields(usage))); err != nil {
			return err
		}
	}
	switch {
	case flag("claim"):
		return usagef(c, "no claim is named: run it under picket exec, or give --claim ID or PICKET_CLAIM")
	case flag("reason"):
		return exitf(exitUsage, "--reason is needed; usage: %s %s --reason TEXT", c.Command.HelpName, c.Command.ArgsUsage)
	}
	return nil
}

// takes refuses any number of arguments but n.
func takes(c *cli.Context, n int) error {
	if got := len(arguments(c)); got != n {
		return usagef(c, "%s needed, not %d", plain.Count(n, "argument is", "arguments are"), got)
	}
	return nil
}

// ticketArgs returns the asset and the task: two arguments, or one ticket id, ASSET/TASK. A task has no slash.
func ticketArgs(c *cli.Context) (asset, task string, err error) {
	args := arguments(c)
	if len(args) == 1 {
		if i := strings.LastIndexByte(args[0], '/'); i > 0 {
			return args[0][:i], args[0][i+1:], nil
		}
	}
	if len(args) != 2 {
		return "", "", usagef(c, "an asset and a task are needed")
	}
	return args[0], args[1], nil
}

// ticketOf is ticketArgs of a command that checkUsage has found right.
func ticketOf(c *cli.Context) (asset, task string) {
	asset, task, _ = ticketArgs(c)
	return asset, task
}

// onlyAsset returns the asset where one stands alone, without a task; of a slash in it nobody can tell, so then it is a ticket's id.
func onlyAsset(c *cli.Context) string {
	args := arguments(c)
	if len(args) == 1 && strings.LastIndexByte(args[0], '/') <= 0 {
		return args[0]
	}
	return ""
}

// usagef says what is wrong with the usage of a command, and what would be right.
func usagef(c *cli.Context, format string, args ...any) error {
	right := strings.TrimSpace(c.Command.HelpName + " " + c.Command.ArgsUsage)
	return exitf(exitUsage, "%s; usage: %s", fmt.Sprintf(format, args...), right)
}

// onUsageError says the same of what the flag parser refused.
func onUsageError(c *cli.Context, err error, _ bool) error {
	message := err.Error()
	if before, ok := strings.CutSuffix(message, ": parse error"); ok {
		right := "a whole number is needed"
		if strings.HasPrefix(before, "invalid boolean value") {
			right = "true or false is needed"
		}
		message = before + ": " + right
	}
	return exitf(exitUsage, "%s; see %s --help", message, c.Command.HelpName)
}

// groupAction is reached when none of a group's commands was named.
func groupAction(commands []*cli.Command) cli.ActionFunc {
	return func(c *cli.Context) error {
		var names []string
		for _, sub := range commands {
			if !sub.Hidden {
				names = append(names, sub.Name)
			}
		}
		what := "a command is missing"
		if c.Args().Present() {
			what = fmt.Sprintf("there is no command %q", c.Args().First())
		}
		return exitf(exitUsage, "%s; %s has %s; see %[2]s --help", what, c.Command.HelpName, strings.Join(names, ", "))
	}
}
