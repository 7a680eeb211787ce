// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/sockapi/client"
)

// completeWord is how a shell's completion asks: picket complete-word WORD…, with the words before the cursor and the one under it.
const completeWord = "complete-word"

// completeLimit bounds what the daemon may take to tell names: somebody waits at a prompt.
const completeLimit = time.Second

// completer tells what may stand under the cursor.
type completer struct {
	values map[string]string // of the flags before the cursor
	args   []string          // the positionals before the cursor
}

// complete prints a candidate a line for the last of the words. Whatever goes wrong, there are no candidates, and no word about
// it. Candidates are not filtered by what was typed; the shell does that.
func complete(app *cli.App, words []string, out io.Writer) {
	if len(words) == 0 {
		return
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	if slices.Contains(before, "--") {
		return // another command's words
	}
	flags, commands, here := clientFlags(app.Flags...), app.Commands, (*cli.Command)(nil)
	k := completer{values: map[string]string{}}
	for i := 0; i < len(before); i++ {
		arg := before[i]
		if name := strings.TrimLeft(arg, "-"); len(arg) > 1 && arg[0] == '-' {
			f := findFlag(flags, name)
			if f == nil || !f.(cli.DocGenerationFlag).TakesValue() {
				continue
			}
			if i++; i == len(before) {
				k.print(out, flagWords[f.Names()[0]])
				return
			}
			k.values[f.Names()[0]] = before[i]
			continue
		}
		if c := findCommand(commands, arg); c != nil && len(k.args) == 0 {
			here, commands, flags = c, c.Subcommands, append(flags, c.Flags...)
			continue
		}
		k.args = append(k.args, arg)
	}
	switch {
	case strings.HasPrefix(word, "-"):
		if here != nil {
			flags = here.Flags
		}
		printFlags(out, flags)
	case len(commands) > 0:
		for _, c := range commands {
			if !c.Hidden {
				fmt.Fprintln(out, c.Name)
			}
		}
	case here != nil:
		if here.Name == "report" {
			k.print(out, k.ofReport())
			return
		}
		if usage := strings.FieldsFunc(here.ArgsUsage, func(r rune) bool { return strings.ContainsRune(" []", r) }); len(k.args) < len(usage) {
			k.print(out, usage[len(k.args)])
		}
	}
}

// flagWords says what stands behind a flag, in the words of ArgsUsage. Files are the shell's own.
var flagWords = map[string]string{
	"asset": "ASSET", "task": "TASK", "channel": "CHANNEL", "claim": "ID", "severity": "info|low|medium|high|critical",
	"flow": client.FlowAssetInference,
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

func printFlags(out io.Writer, flags []cli.Flag) {
	for _, f := range flags {
		for _, name := range f.Names() {
			fmt.Fprintln(out, flagText(name))
		}
	}
}

// flagText is a flag as it is typed.
func flagText(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// print asks the daemon for what a word of ArgsUsage stands for.
func (k completer) print(out io.Writer, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), completeLimit)
	defer cancel()
	socket := cmp.Or(k.values["socket"], os.Getenv("PICKET_SOCKET"), defaultSocket)
	c := client.New(socket)
	defer c.CloseIdleConnections()
	for _, name := range k.names(ctx, c, what) {
		fmt.Fprintln(out, name)
	}
}

// ofReport is what the next word of picket report stands for. The assets of reports are their names with a prefix.
func (k completer) ofReport() string {
	switch len(k.args) {
	case 0:
		return "REPORT"
	case 1:
		k.args[0] = assets.ReportPrefix + k.args[0]
		return "TASK"
	}
	return ""
}

func (k completer) names(ctx context.Context, c *client.Client, what string) (names []string) {
	switch what {
	case "ASSET", "TASK":
		q := client.TicketQuery{Limit: 1000}
		if what == "TASK" && len(k.args) == 0 {
			list, _ := c.Tasks(ctx, q.Limit, "")
			for _, t := range list.Tasks {
				names = append(names, t.Task)
			}
			break
		} else if what == "TASK" {
			q.Asset = k.args[0]
		}
		list, _ := c.Tickets(ctx, q)
		for _, t := range list.Tickets {
			names = append(names, map[string]string{"ASSET": t.Asset, "TASK": t.Task}[what])
		}
	case "REPORT":
		list, _ := c.Tickets(ctx, client.TicketQuery{Asset: assets.ReportPrefix + "*", Limit: 1000})
		for _, t := range list.Tickets {
			names = append(names, strings.TrimPrefix(t.Asset, assets.ReportPrefix))
		}
	case "CHANNEL":
		status, _ := c.Status(ctx)
		for _, ch := range status.Channels {
			names = append(names, ch.Name)
		}
	case "ID":
		list, _ := c.Claims(ctx)
		for _, cl := range list.Claims {
			names = append(names, cl.ID)
		}
	default:
		if what != "" && strings.ToLower(what) == what { // a choice of words
			names = strings.Split(what, "|")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

//go:embed completion.bash completion.zsh completion.fish
var completions embed.FS

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for a shell",
		ArgsUsage:   "bash|zsh|fish",
		Description: "For bash: source <(picket completion bash). For zsh: the same. For fish: picket completion fish | source.",
		Action: func(c *cli.Context) error {
			script, err := completions.ReadFile("completion." + arguments(c)[0])
			if err != nil {
				return usagef(c, "there is no completion for %q", arguments(c)[0])
			}
			_, err = c.App.Writer.Write(script)
			return err
		},
	}
}
