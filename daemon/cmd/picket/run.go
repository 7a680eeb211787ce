// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lines"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "take an asset, or a list of them, through the flow with the scanners of agent.toml",
		ArgsUsage: "ASSET TASK | --assets FILE --task TASK",
		Description: "With --assets and --task a list is worked on instead, one asset a line, several at a time. What is done is\n" +
			"skipped, what another host has is tried later: the same list on several hosts shares the work, and what a killed\n" +
			"host had is resumed by the others. INT, TERM or HUP ends gently, after the steps that run; a second one at once.\n\n" +
			"On a terminal there is a line of progress, that of the list over all hosts, otherwise (or with --json) a JSON object a line for each asset.\n\n" +
			"At the end people see who is at high risk, and what failed or is left, by reason. What was done before is counted only.\n" +
			"With --report people are told of the whole list in one message, once, whichever of the hosts makes it. The run ends when the report is\n" +
			"accepted for delivery, and takes over from who dies while making it.\n\n" +
			"A step that has failed often on whatever hosts is left alone for an hour, or until --again.\n\n" +
			"Exit codes: 0 all done; 1 some failed, or the report; 69 the daemon or Redis was away at the end; 75 some are held elsewhere, or not\n" +
			"done yet, or the report is not, or nobody could tell at the end whether all still are; 78 the configuration is wrong.",
		Flags: clientFlags(
			&cli.StringFlag{
				Name: "config", Usage: "the agent's configuration, a `FILE`; default: /etc/picket/agent.toml",
				EnvVars: []string{"PICKET_AGENT_CONFIG"}, TakesFile: true,
			},
			&cli.BoolFlag{Name: "check", Usage: "only check the configuration, its programs and its catalogues, and the list of --assets if given; exits with 78 when something is wrong"},
			&cli.StringFlag{Name: "assets", Usage: "a list of assets, a `FILE`, - for standard input", TakesFile: true},
			&cli.StringFlag{Name: "task", Usage: "the `TASK` of the list"},
			&cli.StringFlag{Name: "report", Usage: "when all of the list is settled, tell people of it in one message, the report `NAME`; default: report.name of the configuration"},
			&cli.IntFlag{Name: "parallel", Usage: "work on `N` assets at a time, 1 to 1000", Value: 4},
			&cli.GenericFlag{
				Name: "give-up", Usage: "wait for `DURATION` for what others hold, when nothing else is left", Value: newDuration(time.Hour),
			},
			&cli.GenericFlag{
				Name: "heartbeat", Usage: "lose a claim when this process has stood still for `DURATION`", Value: newDuration(30 * time.Second),
			},
			&cli.BoolFlag{Name: "again", Usage: "try at once what has failed often, here or on other hosts, instead of an hour after its last failure"},
			durationFlag("max-hold", "lose a claim after `DURATION`; default: what the steps' time-outs and retries can take"),
			&cli.BoolFlag{Name: "json", Usage: "print a JSON object a line for each asset, on a terminal too"},
		),
		Action: runAction,
	}
}

func newDuration(d time.Duration) *duration {
	v := duration(d)
	return &v
}

func runAction(c *cli.Context) error {
	if c.Bool("check") {
		if err := takes(c, 0); err != nil {
			return err
		}
		return runCheck(c)
	}
	list, task, err := runList(c)
	if err != nil {
		return err
	}
	config, err := agent.LoadConfig(c.String("config"))
	if err != nil {
		return agentError(err)
	}
	config.Report.Name = cmp.Or(c.String("report"), config.Report.Name)
	return runAssets(c, config, list, task)
}

// runCheck says all that is wrong with the configuration and with the list. A line that is no asset is a warning: it keeps a run from
// none of the others.
func runCheck(c *cli.Context) error {
	err := agentError(agent.CheckConfig(c.String("config"), c.String("report"), lines.NewLogger(c.App.ErrWriter, nil)))
	var list assets.List
	if c.IsSet("assets") {
		var unread error
		if list, unread = readList(c); err == nil {
			err = unread
		} else if unread != nil {
			err = &exitError{exitConfig, err.Error() + "\n" + unread.Error()}
		}
	}
	for _, bad := range list.Bad {
		fmt.Fprintf(c.App.ErrWriter, "%spicket: warning: %s:%d: %s %s\n", priority(journal.PriWarning), c.String("assets"), bad.Line, clean(bad.Text), bad.Reason)
	}
	if err != nil {
		return err
	}
	return printGood(c.App.Writer, len(list.Bad))
}

// runList returns what is to be worked on.
func runList(c *cli.Context) (list assets.List, task string, err error) {
	if n := c.Int("parallel"); n < 1 || n > 1000 {
		return list, "", usagef(c, "--parallel takes 1 to 1000")
	}
	if h := durationOf(c, "heartbeat"); h < time.Second || h > 24*time.Hour {
		return list, "", usagef(c, "--heartbeat takes 1s to 24h")
	}
	if h := durationOf(c, "max-hold"); h > 0 && h < time.Second {
		return list, "", usagef(c, "--max-hold takes at least 1s")
	}
	file, task := c.String("assets"), c.String("task")
	if name := c.String("report"); c.IsSet("report") {
		if wrong := assets.CheckReport(name); wrong != "" {
			return list, "", usagef(c, "--report takes a name: it %s", wrong)
		}
		if file == "" {
			return list, "", usagef(c, "--report is of a list: give --assets and --task, too")
		}
	}
	if file == "" && task == "" {
		asset, task, err := ticketArgs(c)
		if err != nil {
			return list, "", err
		}
		if reason := assets.Check(asset); reason != "" {
			return list, "", exitf(exitData, "the asset %q %s", asset, reason)
		}
		if assets.IsNetwork(asset) {
			return list, "", exitf(exitData, "%s is a network: write it into a list, where it stands for its addresses: echo %s | %s --assets - --task %s",
				asset, asset, c.Command.HelpName, task)
		}
		return assets.One(asset), task, checkTask(task)
	}
	if err := takes(c, 0); err != nil {
		return list, "", err
	}
	if file == "" || task == "" {
		return list, "", usagef(c, "--assets and --task belong together")
	}
	if err := checkTask(task); err != nil {
		return list, "", err
	}
	list, err = readList(c)
	return list, task, err
}

// readList reads what --assets names.
func readList(c *cli.Context) (list assets.List, err error) {
	usual := debug.SetGCPercent(longListGC)
	file := c.String("assets")
	in, err := openInput(c, file, " the list")
	if err != nil {
		return list, err
	}
	defer in.Close()
	if list, err = assets.Read(in); err != nil {
		return list, exitf(exitData, "%s: %v", file, err)
	}
	if list.Len() < longList {
		debug.SetGCPercent(usual)
	}
	return list, nil
}

// A run over a list of so many assets collects its garbage at this percentage: else garbage would take as much memory as the list, which
// has no pointers and costs a collection next to nothing.
const (
	longList   = 1 << 16
	longListGC = 25
)

// checkTask refuses a task that the daemon would refuse for each asset.
func checkTask(task string) error {
	if reason := assets.CheckTask(task); reason != "" {
		return exitf(exitData, "the task %q %s", task, reason)
	}
	return nil
}

func runAssets(c *cli.Context, config agent.Config, list assets.List, task string) error {
	socket, err := filepath.Abs(c.String("socket"))
	if err != nil {
		return fmt.Errorf("cannot tell the socket's path: %w", err)
	}
	out := newRunOutput(c)
	ctx, stopping, end := onSignals(c.Context, func() {
		fmt.Fprintln(out.errs, "picket: ending when the running steps have ended; once more ends them at once")
	})
	defer end()
	for _, pair := range list.Alike {
		fmt.Fprintln(out.errs, "picket: "+clean(pair))
	}
	options := agent.Options{
		Client: connect(c), Socket: socket, Task: task,
		Parallel: c.Int("parallel"), GiveUp: durationOf(c, "give-up"),
		Again: c.Bool("again"), Heartbeat: durationOf(c, "heartbeat"), MaxHold: durationOf(c, "max-hold"),
		Follow: out.progress != nil, Log: out.logger(), Report: out.report, ReportAll: out.reportAll, Counts: out.counts,
	}
	var counts agent.Counts
	a, err := agent.New(ctx, config, options)
	if err == nil {
		counts, err = a.Run(ctx, stopping, &list)
	}
	if err == nil {
		out.summary(counts)
		out.unused(a.UnusedAccepted())
	}
	switch err = agentError(err); {
	case err != nil:
	case counts.Failed > 0 || counts.Report == agent.Failed:
		err = &exitError{code: exitFailed}
	case counts.Away != "" && (counts.Later > 0 || counts.Unchecked):
		err = &exitError{code: exitUnavailable}
	case counts.Held+counts.Later+counts.Stopped > 0 || counts.Unchecked || counts.Report == agent.Held || counts.Report == agent.Stopped:
		err = &exitError{code: exitTempFail}
	}
	return out.end(err, stopping, ctx.Done())
}

// agentError gives what is wrong with the agent's configuration its exit code.
func agentError(err error) error {
	if errors.Is(err, agent.ErrConfig) {
		return &exitError{exitConfig, err.Error()}
	}
	return err
}
