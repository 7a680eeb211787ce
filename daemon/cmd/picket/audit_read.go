// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

	sender string // the uid that journald vouches for; empty outside the journal
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
	if err := json.Unmarshal(b, &several); err != nil || len(several) == 0 {
		return fmt.Errorf("neither text nor bytes: %w", err)
	}
	*t = several[0]
	return nil
}

// decodeAudit reads a line of JSON. It is nil for one that is no record of the audit.
func decodeAudit(line []byte) (*auditEntry, error) {
	var f map[string]journalText
	if err := json.Unmarshal(line, &f); err != nil || f["PICKET_EVENT"] == "" {
		return nil, nil //nolint:nilerr // another line of the same log
	}
	text := func(name string) string { return string(f[name]) }
	e := &auditEntry{
		Event: text("PICKET_EVENT"), Message: text("MESSAGE"), Run: text("PICKET_RUN"), Asset: text("PICKET_ASSET"),
		Ticket: text("PICKET_TICKET"), From: text("PICKET_FROM"), To: text("PICKET_TO"), Step: text("PICKET_STEP"),
		Channel: text("PICKET_CHANNEL"), Call: text("PICKET_CALL"), Code: text("PICKET_CODE"), Reason: text("PICKET_REASON"),
		Host: text("PICKET_HOST"), Dropped: text("PICKET_DROPPED"), sender: text("_UID"),
	}
	var err error
	if e.Seq, err = strconv.ParseInt(text("PICKET_SEQ"), 10, 64); err != nil {
		return nil, fmt.Errorf("cannot read PICKET_SEQ %q of a record", text("PICKET_SEQ"))
	}
	if e.Time, err = time.Parse(time.RFC3339Nano, text("PICKET_TIME")); err != nil {
		return nil, fmt.Errorf("cannot read PICKET_TIME %q of record %d", text("PICKET_TIME"), e.Seq)
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

// readAudit hands over each record of a log of JSON lines. Other lines are passed over.
func readAudit(r io.Reader, each func(*auditEntry) error) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		e, bad := decodeAudit(line)
		if bad != nil {
			return exitf(exitData, "%v", bad)
		}
		if e != nil {
			if err := each(e); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

func readAuditFile(c *cli.Context, name string, each func(*auditEntry) error) error {
	if name == "-" {
		return readAudit(c.App.Reader, each)
	}
	f, err := os.Open(name)
	if err != nil {
		return exitf(exitData, "cannot read the records: %v", err)
	}
	defer f.Close()
	return readAudit(f, each)
}
