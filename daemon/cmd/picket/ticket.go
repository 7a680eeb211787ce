// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// maxPage is the API's limit on the tickets of a page.
const maxPage = 1000

func ticketCommand() *cli.Command {
	selection := []cli.Flag{
		&cli.StringFlag{Name: "asset", Usage: "only of this `ASSET`; with * at its end, of those that begin so"},
		&cli.BoolFlag{Name: "exact", Usage: "with --asset: the asset whose own name ends in *"},
		&cli.StringFlag{Name: "task", Usage: "only of this `TASK`"},
		&cli.StringFlag{Name: "state", Usage: "only in this `STATE`"},
		&cli.StringFlag{Name: "since", Usage: "only written to from then on: " + sinceForms},
		&cli.StringFlag{Name: "host", Usage: "only held on this `HOST`, held there last, or with a step recorded there"},
		&cli.BoolFlag{Name: "high-risk", Usage: "only at high risk"},
		&cli.BoolFlag{Name: "failed", Usage: "only with a failure, or FAILED"},
		&cli.BoolFlag{Name: "damaged", Usage: "only those of which Redis has lost something"},
		&cli.BoolFlag{Name: "held", Usage: "only held by a claim"},
		&cli.BoolFlag{Name: "stuck", Usage: "only not terminal, without a claim, and not written to for longer than its task's tickets take, and for 10 minutes"},
	}
	return &cli.Command{
		Name:  "ticket",
		Usage: "what has been established about an asset in a task",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show a ticket, or list those of an asset", ArgsUsage: "ASSET [TASK]",
				Flags:  jsonFlags(&cli.BoolFlag{Name: "why", Usage: "explain what was decided, and from what; with --json as one object"}),
				Action: ticketShow,
			},
			{
				Name: "ls", Usage: "list tickets, the one written last first",
				Flags: jsonFlags(append(slices.Clone(selection),
					&cli.IntFlag{Name: "limit", Usage: "at most `N`", Value: 50},
					&cli.StringFlag{Name: "cursor", Usage: "go on after an earlier page's `CURSOR`"})...),
				Action: ticketLs,
			},
			{
				Name: "history", Usage: "show a ticket's accepted and refused writes", ArgsUsage: "ASSET TASK",
				Flags: jsonFlags(), Action: ticketHistory,
			},
			{
				Name: "reopen", Usage: "begin a new run of a ticket that is FINISHED, FAILED or damaged; for administrators", ArgsUsage: "ASSET TASK",
				Flags: jsonFlags(reasonFlag()), Action: ticketReopen,
			},
			{
				Name: "export", Usage: "write tickets with their histories as JSON Lines, for an archive",
				Description: `A line is {"ticket": …, "history": {"events": …, "refused": …}}. A ticket that is written to meanwhile has several; the last one holds.`,
				Flags:       clientFlags(selection...), Action: ticketExport,
			},
		},
	}
}

func ticketShow(c *cli.Context) error {
	if asset := onlyAsset(c); asset != "" {
		return listTickets(c, client.TicketQuery{Asset: asset, Exact: true, Limit: maxPage})
	}
	asset, task, err := ticketArgs(c)
	if err != nil {
		return err
	}
	t, err := connect(c).Ticket(c.Context, asset, task)
	if err == nil && c.Bool("why") {
		why := verdict.Why(t)
		return answer(c, why, nil, func(w io.Writer) {
			for _, line := range why.Words {
				fmt.Fprintln(w, clean(line))
			}
		})
	}
	return answer(c, client.TicketBody{Ticket: t}, err, func(w io.Writer) { printTicket(w, t) })
}

func printTicket(w io.Writer, t client.Ticket) {
	head := table{{"TICKET", t.ID}}
	head.row("state", t.State)
	if t.Damaged != "" {
		head.row("damaged", damage(t))
	}
	head.row("flow", t.Flow)
	head.row("run", strconv.FormatInt(t.Run, 10))
	head.row("token", strconv.FormatInt(t.Token, 10))
	head.row("holder", holderText(t.Holder))
	head.row("created", clock(t.CreatedAt))
	head.row("updated", clock(t.UpdatedAt))
	if t.Summary != "" {
		head.row("summary", t.Summary)
	}
	if f := t.Failure; f != nil {
		head.row("failure", fmt.Sprintf("%s: %s (%s, last at %s)", f.Step, f.Error, plain.Count(int(f.Count), "time", "times"), clock(f.At)))
	}
	if n := t.Notification; n != nil {
		head.row("told", fmt.Sprintf("%s (%s)", n.Title, n.Severity))
	}
	head.print(w)

	steps := table{{"STEP", "STATE", "TOKEN", "HOST", "AT", "SUMMARY"}}
	for _, name := range slices.SortedFunc(maps.Keys(t.Steps), func(a, b string) int { return t.Steps[a].At.Compare(t.Steps[b].At) }) {
		s := t.Steps[name]
		steps.row(name, s.State, shortToken(s.Token), s.Host, clock(s.At), s.Summary)
		steps.note(brief(s.Facts, terminalWidth(w)))
	}
	section(w, steps)
	channels := table{{"CHANNEL", "STATUS", "ATTEMPTS", "AT", "HOST"}}
	for _, name := range slices.Sorted(maps.Keys(t.Delivery)) {
		d := t.Delivery[name]
		channels.row(name, d.Status, strconv.FormatInt(d.Attempts, 10), clockOr(d.At, "-"), d.Host)
		channels.note(d.Error)
	}
	section(w, channels)
}

// briefFacts is how many columns of facts are shown where no terminal is narrower.
const briefFacts = 200

// brief is the beginning of facts, in a line of a note; --json has the whole.
func brief(facts json.RawMessage, wide int) string {
	var b bytes.Buffer
	if err := json.Compact(&b, facts); err != nil {
		return ""
	}
	if b.String() == "{}" {
		return ""
	}
	most := briefFacts
	if wide > foldedAt {
		most = min(most, wide-foldedAt)
	}
	return runewidth.Truncate(b.String(), most, "…")
}

func ticketHistory(c *cli.Context) error {
	asset, task := ticketOf(c)
	h, err := connect(c).History(c.Context, asset, task)
	return answer(c, h, err, func(w io.Writer) {
		t := table{{"SEQ", "AT", "EVENT", "STATE", "TOKEN", "HOST", "AGENT"}}
		for _, e := range h.Events {
			t.row(strconv.FormatInt(e.Seq, 10), clock(e.At), strings.TrimSpace(e.Event+" "+e.Step), e.To, shortToken(e.Token), e.Host, e.Agent)
			t.note(e.Reason)
		}
		t.print(w)
		refused := table{{"REFUSED", "AT", "EVENT", "WANTED", "TOKEN", "HOST", "AGENT"}}
		for _, e := range h.Refused {
			refused.row(strconv.FormatInt(max(e.Count, 1), 10)+"×", clock(e.At), strings.TrimSpace(e.Event+" "+e.Step), e.To,
				shortToken(e.Token), e.Host, e.Agent)
			refused.note(e.Reason)
		}
		section(w, refused)
	})
}

func ticketReopen(c *cli.Context) error {
	asset, task := ticketOf(c)
	t, err := connect(c).Reopen(c.Context, asset, task, c.String("reason"))
	return done(c, client.TicketBody{Ticket: t}, err, "%s is %s in run %d", t.ID, t.State, t.Run)
}

func notFound(err error) bool {
	p, ok := errors.AsType[*client.Problem](err)
	return ok && p.Code == client.TicketNotFound
}
