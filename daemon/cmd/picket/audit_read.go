// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"
)

// auditEntry is a record as picket audit --json prints it. What a record does not have is left out.
type auditEntry struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Message  string    `json:"message"`
	Priority int       `json:"priority"`
	Run      string    `json:"run"`
	Seq      int64     `json:"seq"`
	Asset    string    `json:"asset,omitempty"`
	Ticket   string    `json:"ticket,omitempty"`
	Token    int64     `json:"token,omitempty"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	Step     string    `json:"step,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Call     string    `json:"call,omitempty"`
	Code     string    `json:"code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Host     string    `json:"host,omitempty"`
	AgentPID *int      `json:"agent_pid,omitempty"`
	AgentUID *uint32   `json:"agent_uid,omitempty"`
	Dropped  string    `json:"dropped,omitempty"`
}

// journalText is the value of a field in journalctl's JSON: a string, numbers where it has bytes that cannot be printed, null
// where it is too long, and an array of these when the field stands there more than once (journalctl(1), -o json).
type journalText string

func (t *journalText) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = journalText(s)
		return nil
	}
	var numbers []uint16
	if json.Unmarshal(b, &numbers) == nil {
		text := make([]byte, len(numbers))
		for i, n := range numbers {
			text[i] = byte(n)
		}
		*t = journalText(text)
		return nil
	}
	var several []journalText
	if json.Unmarshal(b, &several) == nil && len(several) > 0 {
		*t = several[0]
	}
	return nil // whatever else it is says nothing, and must not spoil the other fields
}

// decodeFields reads a line of JSON. There are none in one that is no record of the audit.
func decodeFields(line []byte) (map[string]journalText, error) {
	var f map[string]journalText
	if err := json.Unmarshal(line, &f); err != nil && bytes.Contains(line, []byte(`"PICKET_EVENT"`)) {
		return nil, fmt.Errorf("it is not a whole JSON object: %w", err)
	} else if err != nil || f["PICKET_EVENT"] == "" {
		return nil, nil //nolint:nilerr // another line of the same log
	}
	return f, nil
}

// decodeAudit makes a record of its fields.
func decodeAudit(f map[string]journalText) (*auditEntry, error) {
	text := func(name string) string { return string(f[name]) }
	e := &auditEntry{
		Event: text("PICKET_EVENT"), Message: text("MESSAGE"), Run: text("PICKET_RUN"), Asset: text("PICKET_ASSET"),
		Ticket: text("PICKET_TICKET"), From: text("PICKET_FROM"), To: text("PICKET_TO"), Step: text("PICKET_STEP"),
		Channel: text("PICKET_CHANNEL"), Call: text("PICKET_CALL"), Code: text("PICKET_CODE"), Reason: text("PICKET_REASON"),
		Host: text("PICKET_HOST"), Dropped: text("PICKET_DROPPED"),
	}
	var err error
	if e.Seq, err = strconv.ParseInt(text("PICKET_SEQ"), 10, 64); err != nil || e.Seq < 1 {
		return nil, fmt.Errorf("PICKET_SEQ is %q: it must be a number from 1 on", text("PICKET_SEQ"))
	}
	if e.Time, err = time.Parse(time.RFC3339Nano, text("PICKET_TIME")); err != nil {
		return nil, fmt.Errorf("PICKET_TIME of record %d is %q: it must be a time as RFC 3339 has it", e.Seq, text("PICKET_TIME"))
	}
	e.Priority, _ = strconv.Atoi(text("PRIORITY"))
	e.Token, _ = strconv.ParseInt(text("PICKET_TOKEN"), 10, 64)
	if pid, err := strconv.Atoi(text("PICKET_AGENT_PID")); err == nil {
		e.AgentPID = &pid
	}
	if n, err := strconv.ParseUint(text("PICKET_AGENT_UID"), 10, 32); err == nil {
		uid := uint32(n)
		e.AgentUID = &uid
	}
	return e, nil
}

// auditLog reads records that may come from anybody.
type auditLog struct {
	trusted   []string // the uids whose records count
	strangers map[string]int
	bad       int // records that cannot be read
	errs      io.Writer
}

func newAuditLog(errs io.Writer) *auditLog {
	return &auditLog{trusted: journalSenders(), strangers: map[string]int{}, errs: errs}
}

// read hands over each record of a log of JSON lines. Other lines are passed over, and so is who is not the daemon, before
// anything of what it says is looked at. A record that cannot be read is told, with the number of its line where there are lines.
func (l *auditLog) read(r io.Reader, what string, each func(*auditEntry) error) error {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, end := lines.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return exitf(exitData, "cannot read %s: %v", what, end)
		}
		f, bad := decodeFields(line)
		if f != nil && !l.trusts(f) {
			l.strangers[string(f["_UID"])]++
			f = nil
		}
		var e *auditEntry
		if f != nil {
			e, bad = decodeAudit(f)
		}
		if bad != nil {
			l.bad++
			fmt.Fprintf(l.errs, "picket: passed over a record, %s, line %d: %s\n", what, n, clean(bad.Error()))
		} else if e != nil {
			if err := each(e); err != nil {
				return err
			}
		}
		if end != nil {
			return nil
		}
	}
}

// trusts looks at what journald vouches for: the user, and the unit, by which the export of another host is known, where picketd
// has another uid. Records that were never in a journal have neither.
func (l *auditLog) trusts(f map[string]journalText) bool {
	uid, journaled := f["_UID"]
	return !journaled || slices.Contains(l.trusted, string(uid)) || f["_SYSTEMD_UNIT"] == "picketd.service"
}

// tellStrangers says whose records were left out.
func (l *auditLog) tellStrangers() {
	for _, uid := range slices.Sorted(maps.Keys(l.strangers)) {
		fmt.Fprintf(l.errs, "picket: left out %s of uid %s, who is not the daemon\n", plural(l.strangers[uid], "record", "records"), clean(uid))
	}
}

func (l *auditLog) readFile(c *cli.Context, name string, each func(*auditEntry) error) error {
	if name == "-" {
		return l.read(c.App.Reader, "standard input", each)
	}
	f, err := os.Open(name)
	if err != nil {
		return exitf(exitData, "cannot read the records: %v", err)
	}
	defer f.Close()
	return l.read(f, name, each)
}
