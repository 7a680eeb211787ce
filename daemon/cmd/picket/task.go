// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

const (
	watchEvery  = 2 * time.Second
	mostRunning = 20 // that are listed for people
)

func taskCommand() *cli.Command {
	return &cli.Command{
		Name:  "task",
		Usage: "how far tasks are, over all hosts",
		Subcommands: []*cli.Command{
			{
				Name: "ls", Usage: "list tasks, the one written to last first",
				Flags: jsonFlags(
					&cli.IntFlag{Name: "limit", Usage: "at most `N`", Value: 50},
					&cli.StringFlag{Name: "cursor", Usage: "go on after an earlier page's `CURSOR`"}),
				Action: taskLs,
			},
			{
				Name: "show", Usage: "show how far a task is: what is done, runs, waits, failed and why", ArgsUsage: "TASK",
				Description: "Exits with 0 when all of it is done, with 1 when all is settled and some is FAILED or damaged, and with 75 when it is not settled, " +
					"or nobody can tell: tickets may be missing, or hosts work on lists that are not the same.\n\n" +
					"STEP is what comes next from the ticket's state, and SINCE when the ticket was last written to: what runs is not written down " +
					"anywhere. A high risk is new when the asset's last ticket before that was assessed had none.",
				Flags:  jsonFlags(&cli.BoolFlag{Name: "watch", Usage: "show it again when it has changed, until all is settled"}),
				Action: taskShow,
			},
		},
	}
}

func taskLs(c *cli.Context) error {
	limit := c.Int("limit")
	if limit < 1 || limit > maxPage {
		return usagef(c, "--limit takes 1 to %d", maxPage)
	}
	r, err := connect(c).Tasks(c.Context, limit, client.Cursor(c.String("cursor")))
	return answer(c, r, err, func(w io.Writer) {
		warnIncomplete(c, r.Incomplete)
		t := table{{"TASK", "TOTAL", "DONE", "FAILED", "OPEN", "WAITING", "HIGH RISK", "UPDATED"}}
		for _, k := range r.Tasks {
			t.row(k.Task, digits(k.Total), digits(k.States[client.StateFinished]), digits(k.States[client.StateFailed]), digits(open(k)),
				digits(k.Waiting()), digits(k.HighRisk), clock(k.UpdatedAt))
		}
		t.print(w)
		tellMore(c, r.Cursor)
	})
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }

// open is how many tickets are not terminal.
func open(t client.Task) int64 { return t.Total - t.Damaged - t.Waiting() - t.Done() }

// taskReport is what task show prints as JSON.
type taskReport struct {
	client.TaskBody
	Running []running `json:"running"`
	Failed  []failed  `json:"failed"`
}

// running is an asset that is held, or with more of them the first 1,000.
type running struct {
	Asset     string    `json:"asset"`
	State     string    `json:"state"`
	Step      string    `json:"step"` // that comes next from the state: "intel or assess"
	StepSince time.Time `json:"step_since"`
	Host      string    `json:"host"`
	Since     time.Time `json:"since"` // of the claim
}

// failed is a ticket that is FAILED, or with more of them the last 1,000.
type failed struct {
	Asset string `json:"asset"`
	Error string `json:"error"`
}

func taskShow(c *cli.Context) error {
	cl, task := connect(c), arguments(c)[0]
	var last taskReport
	for {
		r, err := readTask(c, cl, task)
		if err != nil {
			return err
		}
		same := last
		if same.Task.PerMinute = r.Task.PerMinute; !reflect.DeepEqual(r, same) {
			if c.Bool("watch") && isTerminal(c.App.Writer) && !c.Bool("json") {
				fmt.Fprint(c.App.Writer, "\x1b[H\x1b[2J")
			}
			if err := answer(c, r, nil, func(w io.Writer) { printTask(c, w, r) }); err != nil {
				return err
			}
			last = r
		}
		code := taskExit(r.TaskBody)
		if !c.Bool("watch") || code != exitTempFail {
			return taskEnd(code)
		}
		select {
		case <-time.After(watchEvery):
		case <-c.Context.Done():
			return c.Context.Err()
		}
	}
}

func taskEnd(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// taskExit is how a task's state ends the command.
func taskExit(b client.TaskBody) int {
	switch {
	case b.Incomplete, b.Task.Done()+b.Task.Damaged < b.Task.Total, b.Task.Lists > 1:
		return exitTempFail
	case b.Task.States[client.StateFailed]+b.Task.Damaged > 0:
		return exitFailed
	}
	return 0
}

func readTask(c *cli.Context, cl *client.Client, task string) (r taskReport, err error) {
	if r.TaskBody, err = cl.TaskWithNewRisks(c.Context, task); err != nil {
		return r, err
	}
	r.Running, r.Failed = []running{}, []failed{}
	held, err := cl.Tickets(c.Context, client.TicketQuery{Task: task, Held: true, Limit: maxPage})
	if err != nil {
		return r, err
	}
	for _, t := range held.Tickets {
		if t.State != client.StateFailed {
			r.Running = append(r.Running, running{t.Asset, t.State, strings.Join(t.Holder.Next, " or "), t.UpdatedAt, t.Holder.Host, t.Holder.Since})
		}
	}
	if r.Task.States[client.StateFailed] == 0 {
		return r, nil
	}
	gone, err := cl.Tickets(c.Context, client.TicketQuery{Task: task, State: client.StateFailed, Limit: maxPage})
	for _, t := range gone.Tickets {
		r.Failed = append(r.Failed, failed{t.Asset, verdict.WhyFailed(t)})
	}
	return r, err
}

func printTask(c *cli.Context, w io.Writer, r taskReport) {
	warnIncomplete(c, r.Incomplete)
	t := r.Task
	head := table{{"TASK", t.Task}}
	head.row("total", digits(t.Total))
	head.row("done", digits(t.States[client.StateFinished]))
	head.row("failed", digits(t.States[client.StateFailed]))
	if t.Damaged > 0 {
		head.row("damaged", digits(t.Damaged)+" that Redis has lost some of: picket ticket ls --damaged --task "+t.Task)
	}
	head.row("running", strconv.Itoa(len(r.Running)))
	if paused := open(t) - int64(len(r.Running)); paused > 0 {
		head.row("paused", digits(paused)+" begun, and held by nobody now")
	}
	if failing := t.Failed - t.States[client.StateFailed]; failing > 0 {
		head.row("failing", digits(failing)+" not FAILED, after a failed step: picket ticket ls --failed --task "+t.Task)
	}
	head.row("waiting", digits(t.Waiting()))
	head.row("high risk", digits(t.HighRisk)+newRisks(t.HighRisk, r.NewRisks))
	if left := t.Total - t.Damaged - t.Done(); left > 0 && t.PerMinute > 0 {
		head.row("left", "about "+plain.About(time.Duration(float64(left)/t.PerMinute*float64(time.Minute))))
	}
	if t.Lists > 1 {
		head.row("lists", digits(t.Lists)+": how far they are the same is not known; total is the longest one's, and more may wait")
	}
	head.print(w)
	now := table{{"RUNNING", "STATE", "STEP", "HOST", "SINCE"}}
	for i, one := range r.Running {
		if i == mostRunning {
			now.note(fmt.Sprintf("and %d more", len(r.Running)-i))
			break
		}
		now.row(one.Asset, one.State, one.Step, one.Host, clock(one.StepSince))
	}
	section(w, now)
	var why report.Reasons
	for _, one := range r.Failed {
		why.Add(one.Asset, one.Error)
	}
	for _, line := range reasonLines(why, "failed") {
		fmt.Fprintln(w, clean(line))
	}
}

// newRisks says how many of the high risks are new.
func newRisks(all int64, n *client.NewRisks) string {
	switch {
	case n == nil || n.Compared == 0:
		return ""
	case n.Compared < all:
		return fmt.Sprintf(" (%d new of the last %d)", n.New, n.Compared)
	}
	return fmt.Sprintf(" (%d new)", n.New)
}
