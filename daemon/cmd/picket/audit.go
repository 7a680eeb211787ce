// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "show who wrote what, what was refused, and what became of it, from the journal",
		Description: "Reads with journalctl what the daemon of this host has recorded, so the reader must be allowed to read the journal. " +
			"--file reads records that were kept as JSON lines instead. --verify looks for gaps in the numbers of each run of the daemon, " +
			"and ends with 1 if there is one that no record tells of. What the journal has dropped as the oldest is told, and is a fault only with --since.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "ticket", Usage: "only of this ticket, `ASSET/TASK`"},
			&cli.StringFlag{Name: "asset", Usage: "only of this `ASSET`"},
			&cli.StringFlag{Name: "agent", Usage: "only what this agent did: `PID`, PID/UID, or /UID"},
			&cli.StringFlag{Name: "since", Usage: "only from then on: " + sinceForms},
			&cli.BoolFlag{Name: "refused", Usage: "only what was refused, but for claims on what another holds: --code LOCK_HELD shows those"},
			&cli.StringFlag{Name: "code", Usage: "only what was refused with this `CODE`: STALE_TOKEN, LOCK_HELD …"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on as more is recorded"},
			&cli.BoolFlag{Name: "verify", Usage: "look for gaps in the numbers; takes --since, --file and --json"},
			&cli.StringFlag{Name: "file", Usage: "read JSON lines from `FILE`, - for standard input, instead of the journal", TakesFile: true},
			&cli.BoolFlag{Name: "json", Usage: "print JSON lines; with --verify one object"},
		},
		Action: showAudit,
	}
}

func showAudit(c *cli.Context) error {
	filter, err := auditFilter(c, time.Now())
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(c.Context)
	defer stop()
	reader := audit.NewReader(func(err error) {
		fmt.Fprintf(c.App.ErrWriter, "picket: passed over a record, %s\n", clean(err.Error()))
	})
	records := reader.Journal(ctx, &filter, c.Bool("follow"))
	if name := c.String("file"); name != "" {
		in, err := openInput(c, name, " the records")
		if err != nil {
			return err
		}
		defer in.Close()
		if name == "-" {
			name = "standard input"
		}
		records = reader.Lines(in, name)
	}
	read := func(each func(*audit.Record) error) error {
		defer tellStrangers(c.App.ErrWriter, reader)
		for r, err := range records {
			if err != nil {
				return unreadable(err)
			}
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	}
	if c.Bool("verify") {
		err = verifyAudit(c, filter.Since, read)
	} else {
		show := auditPrinter(c)
		err = read(func(r *audit.Record) error {
			if !filter.Matches(r) {
				return nil
			}
			return show(r)
		})
	}
	if err == nil && reader.Bad > 0 && c.IsSet("file") {
		return exitf(exitData, "%s not be read", plain.Count(reader.Bad, "record could", "records could"))
	}
	return err
}

// unreadable is with which code the command ends that cannot read its records.
func unreadable(err error) error {
	switch {
	case errors.Is(err, audit.ErrDenied):
		return exitf(exitNoPerm, "%v", err)
	case errors.Is(err, audit.ErrNoJournal):
		return exitf(exitUnavailable, "%v", err)
	}
	return exitf(exitData, "%v", err)
}

// tellStrangers says whose records were left out.
func tellStrangers(w io.Writer, r *audit.Reader) {
	for _, uid := range slices.Sorted(maps.Keys(r.Strangers)) {
		fmt.Fprintf(w, "picket: left out %s of uid %s, who is not the daemon\n", plain.Count(r.Strangers[uid], "record", "records"), clean(uid))
	}
}

// auditFilter reads the flags, and refuses those that do not go together.
func auditFilter(c *cli.Context, now time.Time) (f audit.Filter, err error) {
	f.Refused, f.Like.Code = c.Bool("refused"), strings.ToUpper(c.String("code"))
	if c.Bool("follow") && (c.Bool("verify") || c.IsSet("file")) {
		return f, usagef(c, "--follow goes neither with --verify nor with --file")
	}
	if c.IsSet("file") && c.String("file") == "" {
		return f, usagef(c, "--file is empty: it takes a FILE, or - for standard input")
	}
	for _, flag := range []string{"ticket", "asset", "agent", "refused", "code"} {
		if c.Bool("verify") && c.IsSet(flag) {
			return f, usagef(c, "--%s does not go with --verify, which must see every number", flag)
		}
	}
	if asset := c.String("asset"); c.IsSet("asset") {
		if f.Like.Asset, err = canonicalAsset(asset); err != nil {
			return f, exitf(exitData, "--asset: %v", err)
		}
	}
	if ticket := c.String("ticket"); c.IsSet("ticket") {
		i := strings.LastIndexByte(ticket, '/')
		if i <= 0 {
			return f, usagef(c, "--ticket takes ASSET/TASK")
		}
		asset, err := canonicalAsset(ticket[:i])
		if err != nil {
			return f, exitf(exitData, "--ticket: %v", err)
		}
		f.Like.Ticket = asset + ticket[i:]
	}
	if c.IsSet("agent") {
		pid, uid, _ := strings.Cut(c.String("agent"), "/")
		f.Like.AgentPID, f.Like.AgentUID = json.Number(pid), json.Number(uid)
		for _, n := range []string{pid, uid} {
			if _, err := strconv.ParseUint(n, 10, 32); n != "" && err != nil || pid+uid == "" {
				return f, usagef(c, "--agent takes PID, PID/UID or /UID")
			}
		}
	}
	if c.IsSet("since") {
		if f.Since, err = parseSince(c.String("since"), now); err != nil {
			return f, usagef(c, "--since takes %s", strings.ReplaceAll(sinceForms, "`", ""))
		}
	}
	return f, nil
}

// sinceForms are those that parseSince reads.
const sinceForms = "a span back from now as 1h or 7d, or a `TIME` as 2026-11-29, 2026-11-29 08:00 or RFC 3339"

// parseSince reads a span back from now, or a time, which is local without a zone.
func parseSince(s string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Parse(time.RFC3339, s)
}

// auditPrinter prints records as they come, so the columns have widths that do not depend on them. On a terminal that has no room
// for all of them, what changed and why stand below.
func auditPrinter(c *cli.Context) func(*audit.Record) error {
	if c.Bool("json") {
		return func(e *audit.Record) error { return printJSON(c.App.Writer, e) }
	}
	return auditRows(c.App.Writer, terminalWidth(c.App.Writer))
}

// auditWide is the narrowest terminal, in columns, on which a record stands on one line.
const auditWide = 140

func auditRows(w io.Writer, wide int) func(*audit.Record) error {
	narrow := wide > 0 && wide < auditWide
	widths := []int{19, 15, 28, 32, 12}
	if narrow {
		widths = []int{19, 12, 28}
	}
	line := func(cells ...string) error {
		var b strings.Builder
		for i, cell := range cells {
			if cell = clean(cell); i < len(widths) {
				cell = runewidth.FillRight(cell, widths[i]) + "  "
			}
			b.WriteString(cell)
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		return err
	}
	row := func(at, event, subject, move, agent, what string) error {
		if !narrow {
			return line(at, event, subject, move, agent, what)
		}
		err := line(at, event, subject, agent)
		more := slices.DeleteFunc([]string{move, what}, func(s string) bool { return s == "" || s == "-" })
		for _, text := range wrap(clean(strings.Join(more, " · ")), wide-foldedAt) {
			_, failed := fmt.Fprintln(w, strings.Repeat(" ", foldedAt)+text)
			err = cmp.Or(err, failed)
		}
		return err
	}
	headed := false
	return func(e *audit.Record) error {
		if !headed {
			headed = true
			if err := row("TIME", "EVENT", "TICKET", "FROM → TO", "AGENT", "WHAT"); err != nil {
				return err
			}
		}
		return row(clock(e.Time), string(e.Kind), orDash(cmp.Or(e.Ticket, e.Asset)), move(e), agentOf(e), restOf(e))
	}
}

func move(e *audit.Record) string {
	if e.From == e.To {
		return orDash(e.To)
	}
	return orDash(e.From) + " → " + orDash(e.To)
}

func agentOf(e *audit.Record) string {
	if e.AgentUID == "" {
		return "-"
	}
	return orDash(e.AgentPID.String()) + "/" + e.AgentUID.String()
}

// restOf is the rest, in a line.
func restOf(e *audit.Record) string {
	parts := []string{e.Step, e.Channel, e.Code, e.Reason, e.Dropped}
	if e.Kind == audit.Refused || e.Kind == audit.Replayed || e.Kind == audit.Unconfirmed {
		parts = slices.Insert(parts, 0, e.Call)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func orDash(s string) string { return cmp.Or(s, "-") }
