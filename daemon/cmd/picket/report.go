// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "show what a night over a list has changed: new, fixed, newly at high risk, failed, not reachable", ArgsUsage: "NAME [TASK]",
		Description: "Without TASK the newest report of that name; when a newer one is not made, standard error says so. --csv and --json have every row, the others the most severe of each section.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "since", Usage: "compare with the report of this `TASK` instead of the one before"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "csv", Usage: "print a table for spreadsheets, with what is open as before"},
			&cli.BoolFlag{Name: "md", Usage: "print a page of Markdown"},
			&cli.BoolFlag{Name: "html", Usage: "print a page for browsers and mails, in one file"}),
		Action: reportShow,
	}
}

// reportForms are the forms of a report, each a flag.
var reportForms = []string{"json", "csv", "md", "html"}

func reportShow(c *cli.Context) error {
	args := arguments(c)
	if len(args) < 1 || len(args) > 2 {
		return usagef(c, "the name of a report is needed")
	}
	forms := slices.DeleteFunc(slices.Clone(reportForms), func(form string) bool { return !c.Bool(form) })
	if len(forms) > 1 {
		return usagef(c, "--%s and --%s are two forms: one is needed", forms[0], forms[1])
	}
	r := reportReader{cl: connect(c), name: args[0], progress: c.App.ErrWriter}
	if len(args) == 2 {
		r.task = args[1]
	}
	if err := r.find(c.Context, c.String("since")); err != nil {
		return err
	}
	w := c.App.Writer
	form := strings.Join(forms, "")
	if r.newer != "" {
		fmt.Fprintln(c.App.ErrWriter, clean(r.newer))
		if form != "" {
			r.notes = append(r.notes, r.newer)
		}
	}
	switch form {
	case "json":
		rows := report.NewJSON()
		defer rows.Close()
		made, err := r.read(c.Context, rows.Row)
		if err != nil {
			return err
		}
		return rows.Write(forTerminal(w), made)
	case "csv":
		rows, err := report.NewCSV(forTerminal(w))
		if err != nil {
			return err
		}
		if _, err := r.read(c.Context, rows.Row); err != nil {
			return err
		}
		return rows.Flush()
	}
	made, err := r.read(c.Context)
	switch {
	case err != nil:
		return err
	case form == "md":
		return made.Markdown(forTerminal(w))
	case form == "html":
		return made.HTML(forTerminal(w))
	}
	return printReport(w, made)
}

// reportReader reads a report and what it is made of.
type reportReader struct {
	cl         *client.Client
	name, task string
	progress   io.Writer

	facts   agent.ReportFacts
	until   time.Time           // when it was gathered
	earlier []agent.ReportFacts // the newest first
	changed string              // a report that it is compared with instead of the one before
	newer   string              // that a newer one is not made, and why; empty: there is none
	notes   []string            // what stands at its head before what it says there itself
}

// directly makes a call once: somebody waits, and can ask again.
func directly(ctx context.Context, call func(context.Context) error) error { return call(ctx) }

// find reads the facts of the report, and of those before it.
func (r *reportReader) find(ctx context.Context, since string) error {
	tickets, err := r.reports(ctx, assets.ReportPrefix+r.name)
	if err != nil {
		return err
	}
	if len(tickets) == 0 {
		return r.none(ctx)
	}
	i := slices.IndexFunc(tickets, func(t client.Ticket) bool {
		_, gathered := t.Steps[client.StepGather]
		return r.task == "" && gathered || t.Task == r.task
	})
	if i < 0 && r.task != "" {
		return exitf(exitFailed, "there is no report %s of task %s; there are those of %s", r.name, r.task, firstOf(tickets, func(t client.Ticket) string { return t.Task }))
	}
	if i > 0 && r.task == "" {
		r.newer = fmt.Sprintf("A newer report, of task %s, is not made: %s.", tickets[0].Task, cmp.Or(verdict.LastWord(tickets[0]), "it is "+tickets[0].State))
	}
	i = max(i, 0)
	t, err := r.cl.Ticket(ctx, tickets[i].Asset, tickets[i].Task)
	if err != nil {
		return err
	}
	if _, gathered := t.Steps[client.StepGather]; !gathered {
		return exitf(exitTempFail, "the report %s of task %s is not made yet: it is %s, %s; picket task show %[2]s says how far the assets are", r.name, t.Task, t.State, verdict.LastWord(t))
	}
	if r.facts, err = agent.ReadReport(t); err != nil {
		return err
	}
	r.task, r.until = t.Task, t.Steps[client.StepGather].At
	if why := untold(t); why != "" {
		r.notes = append(r.notes, why)
	}
	r.earlier, err = agent.EarlierReports(ctx, r.cl, directly, r.name, r.task, r.facts.Report.At)
	if err != nil || since == "" {
		return err
	}
	i = slices.IndexFunc(r.earlier, func(f agent.ReportFacts) bool { return f.Report.Task == since })
	if i < 0 {
		return exitf(exitFailed, "there is no report %s of task %s that was told before %s; there are those of %s", r.name, since, r.task,
			firstOf(r.earlier, func(f agent.ReportFacts) string { return f.Report.Task }))
	}
	r.changed = since
	r.facts.Before, r.facts.Past = r.earlier[i].Lists, nil
	for _, f := range r.earlier[i:] {
		r.facts.Past = append(r.facts.Past, agent.EarlierReport{Task: f.Report.Task, At: f.Report.At})
	}
	return nil
}

// untold says why people have not got a report, or not all of them.
func untold(t client.Ticket) string {
	switch {
	case t.State == client.StateFinished, t.State == client.StateNotified:
		return ""
	case verdict.WasTold(t) && t.State == client.StateFailed:
		return "Not everybody has got this report: " + verdict.WhyFailed(t) + "."
	case verdict.WasTold(t):
		return ""
	case t.State == client.StateFailed, t.Failure != nil:
		return "Nobody has got this report: " + verdict.WhyFailed(t) + "."
	}
	return "Nobody has got this report yet: it is " + t.State + "."
}

// reports are the tickets of reports without facts, the newest first.
func (r *reportReader) reports(ctx context.Context, asset string) (all []client.Ticket, err error) {
	for cursor := client.Cursor(""); ; {
		page, err := r.cl.Tickets(ctx, client.TicketQuery{Asset: asset, Limit: maxPage, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Tickets...)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b client.Ticket) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// none says which reports there are.
func (r *reportReader) none(ctx context.Context) error {
	all, err := r.reports(ctx, assets.ReportPrefix+"*")
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return exitf(exitFailed, "there is no report %s, nor any other: picket run --report NAME makes one", r.name)
	}
	return exitf(exitFailed, "there is no report %s; there are %s", r.name, firstOf(all, func(t client.Ticket) string { return strings.TrimPrefix(t.Asset, assets.ReportPrefix) }))
}

// firstOf names the first few, each once.
func firstOf[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		if n := name(one); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	const most = 10
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// read makes the report anew from the tickets of its assets. Each of rows gets every row.
func (r *reportReader) read(ctx context.Context, rows ...func(report.Row) error) (*report.Report, error) {
	told := r.facts.Report
	h := report.Header{List: r.name, Task: r.task, Previous: r.changed, At: told.At, Notes: slices.Concat(r.notes, told.Notes)}
	if told.Previous != nil && r.changed == "" {
		h.Previous = *told.Previous
	}
	for _, f := range slices.Backward(r.earlier) {
		h.Earlier = append(h.Earlier, f.Report.Past())
	}
	feed := agent.Feed{Client: r.cl, Call: directly, List: r.name, Task: r.task, Lists: r.facts.Lists, Before: r.facts.Before, Past: r.facts.Past, Until: r.until}
	maker, seen := report.New(h, rows...), 0
	shown, clear := time.Now(), ""
	err := feed.Each(ctx, func(a report.Asset) error {
		if seen++; isTerminal(r.progress) && time.Since(shown) > time.Second {
			shown, clear = time.Now(), "\r\x1b[K"
			fmt.Fprintf(r.progress, "\r%d of about %d assets read", seen, told.Counts.Assets)
		}
		return maker.Add(a)
	})
	fmt.Fprint(r.progress, clear)
	if err != nil {
		return nil, err
	}
	made := maker.Report()
	if r.changed == "" && made.Counts != told.Counts {
		c := told.Counts
		made.Notes = append(made.Notes, fmt.Sprintf("Tickets have changed since it was made. Its message said: %d new, %d fixed, %d failed, %d at high risk.", c.New, c.Fixed, c.Failed, c.HighRisk))
	}
	return made, nil
}
