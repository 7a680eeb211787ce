// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package audit

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

// Mark says which numbers of a run the journal took within an hour, so that picket audit --verify misses them when the journal
// has them no more, be it at the beginning or at the end.
type Mark struct {
	Run   string    `json:"run"`
	Began time.Time `json:"began"`
	First int64     `json:"first"`
	Last  int64     `json:"last"`
}

// marks keeps them beside the outbox, not fsynced: a crash of the host may cost the last ones.
type marks struct {
	path string
	all  []Mark
}

// openMarks goes on with what a folder has of an earlier run.
func openMarks(stateDir string) (m marks, err error) {
	m.path = filepath.Join(stateDir, "audit.json")
	b, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err == nil:
		err = json.Unmarshal(b, &m.all)
	}
	return m, err
}

// Marks are what a daemon kept in its folder; nothing when it kept none.
func Marks(stateDir string) ([]Mark, error) {
	m, err := openMarks(stateDir)
	return m.all, err
}

// note takes that all numbers of a run up to last were sent, and writes it.
func (m *marks) note(run string, last int64, now time.Time) error {
	now = now.UTC()
	next := int64(1)
	if n := len(m.all); n > 0 && m.all[n-1].Run == run {
		next = m.all[n-1].Last + 1
	}
	if last < next {
		return nil
	}
	if n := len(m.all); next > 1 && now.Sub(m.all[n-1].Began).Abs() < markSpan {
		m.all[n-1].Last = last
	} else {
		m.all = append(m.all, Mark{run, now, next, last})
	}
	m.all = slices.DeleteFunc(m.all, func(k Mark) bool { return now.Sub(k.Began).Abs() > marksKept })
	b, err := json.Marshal(m.all)
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
