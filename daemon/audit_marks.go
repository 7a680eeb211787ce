// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	marksKept = 30 * 24 * time.Hour // and then forgotten, also those of a clock that was ahead
	markSpan  = time.Hour           // of one mark
)

// AuditMark says which numbers of a run the journal took within an hour, so that picket audit --verify misses them when the journal
// has them no more, be it at the beginning or at the end.
type AuditMark struct {
	Run   string    `json:"run"`
	Began time.Time `json:"began"`
	First int64     `json:"first"`
	Last  int64     `json:"last"`
}

// auditMarks keeps them beside the outbox, not fsynced: a crash of the host may cost the last ones.
type auditMarks struct {
	path  string // empty: nowhere
	marks []AuditMark
}

func marksPath(stateDir string) string { return filepath.Join(stateDir, "audit.json") }

// AuditMarks reads what the daemon of a configuration kept; nothing when it kept none. An empty path is the default configuration.
func AuditMarks(path string) ([]AuditMark, error) {
	c, err := LoadConfigStaleCredentials(path)
	if err != nil {
		c = DefaultConfig()
	}
	m, err := readMarks(marksPath(c.StateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

func readMarks(path string) (marks []AuditMark, err error) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &marks)
	}
	return marks, err
}

// note takes that all numbers of a run up to last were sent, and writes it.
func (m *auditMarks) note(run string, last int64, now time.Time) error {
	now = now.UTC()
	next := int64(1)
	if n := len(m.marks); n > 0 && m.marks[n-1].Run == run {
		next = m.marks[n-1].Last + 1
	}
	if m.path == "" || last < next {
		return nil
	}
	if n := len(m.marks); next > 1 && now.Sub(m.marks[n-1].Began).Abs() < markSpan {
		m.marks[n-1].Last = last
	} else {
		m.marks = append(m.marks, AuditMark{run, now, next, last})
	}
	m.marks = slices.DeleteFunc(m.marks, func(k AuditMark) bool { return now.Sub(k.Began).Abs() > marksKept })
	b, err := json.Marshal(m.marks)
	if err == nil {
		err = os.WriteFile(m.path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(m.path+".new", m.path)
	}
	if err != nil {
		return fmt.Errorf("cannot keep which audit records there are: %w", err)
	}
	return nil
}
