// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/sockapi/client"
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
			&cli.StringFlag{Name: "since", Usage: "only from then on: a span back from now as 1h or 7d, or a `TIME` as 2026-11-29, 2026-11-29 08:00 or RFC 3339"},
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

// auditFilter says which records are wanted; what is empty does not matter.
type auditFilter struct {
	asset, ticket, pid, uid, code string
	refused                       bool
	since                         time.Time
}

func (f *auditFilter) matches(e *auditEntry) bool {
	return (f.asset == "" || e.Asset == f.asset) && (f.ticket == "" || e.Ticket == f.ticket) &&
		(f.pid == "" || e.AgentPID != nil && strconv.Itoa(*e.AgentPID) == f.pid) &&
		(f.uid == "" || e.AgentUID != nil && strconv.FormatUint(uint64(*e.AgentUID), 10) == f.uid) &&
		(f.code == "" || e.Code == f.code) &&
		(!f.refused || e.Event == "refusals" || e.Event == "refused" && (e.Code != string(client.LockHeld) || f.code != "")) && !e.Time.Before(f.since)
}

// fields are what journalctl is to look for, so that it need not hand over all.
func (f *auditFilter) fields() []string {
	fields := []string{"SYSLOG_IDENTIFIER=picket"}
	for _, m := range [][2]string{{"ASSET", f.asset}, {"TICKET", f.ticket}, {"AGENT_PID", f.pid}, {"AGENT_UID", f.uid}, {"CODE", f.code}} {
		if m[1] != "" {
			fields = append(fields, "PICKET_"+m[0]+"="+m[1])
		}
	}
	if f.refused {
		fields = append(fields, "PICKET_EVENT=refused", "PICKET_EVENT=refusals")
	}
	return fields
}

func showAudit(c *cli.Context) error {
	if _, err := positionals(c, 0); err != nil {
		return err
	}
	filter, err := auditFilterOf(c, time.Now())
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(c.Context)
	defer stop()
	log := newAuditLog(c.App.ErrWriter)
	read := func(each func(*auditEntry) error) error {
		defer log.tellStrangers()
		if c.IsSet("file") {
			return log.readFile(c, c.String("file"), each)
		}
		return log.readJournal(ctx, &filter, c.Bool("follow"), each)
	}
	if c.Bool("verify") {
		err = auditVerify(c, filter.since, read)
	} else {
		show := auditPrinter(c)
		err = read(func(e *auditEntry) error {
			if !filter.matches(e) {
				return nil
			}
			return show(e)
		})
	}
	if err == nil && log.bad > 0 && c.IsSet("file") {
		return exitf(exitData, "%s not be read", plural(log.bad, "record could", "records could"))
	}
	return err
}

// auditFilterOf reads the flags, and refuses those that do not go together.
func auditFilterOf(c *cli.Context, now time.Time) (f auditFilter, err error) {
	f.refused, f.code = c.Bool("refused"), strings.ToUpper(c.String("code"))
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
		if f.asset, err = canonicalAsset(asset); err != nil {
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
		f.ticket = asset + ticket[i:]
	}
	if c.IsSet("agent") {
		f.pid, f.uid, _ = strings.Cut(c.String("agent"), "/")
		for _, n := range []string{f.pid, f.uid} {
			if _, err := strconv.ParseUint(n, 10, 32); n != "" && err != nil || f.pid+f.uid == "" {
				return f, usagef(c, "--agent takes PID, PID/UID or /UID")
			}
		}
	}
	if c.IsSet("since") {
		if f.since, err = parseSince(c.String("since"), now); err != nil {
			return f, usagef(c, "--since takes a span back from now as 1h or 7d, or a time as 2026-11-29, 2026-11-29 08:00 or RFC 3339")
		}
	}
	return f, nil
}

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

// auditPrinter prints records as they come, so the columns have widths that do not depend on them.
func auditPrinter(c *cli.Context) func(*auditEntry) error {
	if c.Bool("json") {
		return func(e *auditEntry) error { return printJSON(c.App.Writer, e) }
	}
	widths := []int{19, 15, 28, 32, 12}
	line := func(w io.Writer, cells ...string) error {
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
	headed := false
	return func(e *auditEntry) error {
		if !headed {
			headed = true
			if err := line(c.App.Writer, "TIME", "EVENT", "TICKET", "FROM → TO", "AGENT", "WHAT"); err != nil {
				return err
			}
		}
		return line(c.App.Writer, clock(e.Time), e.Event, e.subject(), e.move(), e.agent(), e.what())
	}
}

func (e *auditEntry) subject() string {
	if e.Ticket != "" {
		return e.Ticket
	}
	return orDash(e.Asset)
}

func (e *auditEntry) move() string {
	switch {
	case e.From == "" && e.To == "":
		return "-"
	case e.From == e.To:
		return e.To
	}
	return orDash(e.From) + " → " + orDash(e.To)
}

func (e *auditEntry) agent() string {
	if e.AgentUID == nil {
		return "-"
	}
	uid := strconv.FormatUint(uint64(*e.AgentUID), 10)
	if e.AgentPID == nil {
		return "-/" + uid
	}
	return strconv.Itoa(*e.AgentPID) + "/" + uid
}

// what is the rest, in a line.
func (e *auditEntry) what() string {
	parts := []string{e.Step, e.Channel, e.Code, e.Reason, e.Dropped}
	if e.Event == "refused" || e.Event == "replayed" || e.Event == "unconfirmed" {
		parts = slices.Insert(parts, 0, e.Call)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
