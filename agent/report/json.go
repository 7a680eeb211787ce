// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/picketd/picket/agent/plain"
)

// JSON keeps all rows, section by section in files without a name, until the counts that stand before them are known.
type JSON struct {
	sections map[string]*spool
}

// spool holds the values of a list. It is a file, because a list may have a million.
type spool struct {
	file *os.File
	w    *bufio.Writer
}

// NewJSON begins. Close must be called.
func NewJSON() *JSON { return &JSON{map[string]*spool{}} }

// Row keeps a row.
func (j *JSON) Row(row Row) error {
	var v any = row.Asset
	switch row.Section {
	case SectionOpen, SectionUnknown:
		return nil
	case SectionFailed:
		v = Failure{row.Asset, row.Step, row.Why}
	case SectionNotScanned:
		v = NotScanned{row.Asset, row.Why}
	}
	if row.Finding != nil {
		v = row.Finding
	}
	b, err := plain.JSON(v)
	if err == nil {
		err = j.keep(row.Section, b)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the rows of the report: %w", err)
	}
	return nil
}

func (j *JSON) keep(section string, b []byte) error {
	s := j.sections[section]
	if s == nil {
		f, err := os.CreateTemp("", "picket-report-")
		if err != nil {
			return err
		}
		s = &spool{f, bufio.NewWriter(f)}
		j.sections[section] = s
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	} else if err := s.w.WriteByte(','); err != nil {
		return err
	}
	_, err := s.w.Write(b)
	return err
}

// Close gives back what the rows took.
func (j *JSON) Close() {
	for _, s := range j.sections {
		s.file.Close()
	}
}

// Write writes the report as one object.
func (j *JSON) Write(w io.Writer, r *Report) error {
	head, err := plain.JSON(struct {
		List     string   `json:"list"`
		Task     string   `json:"task"`
		Previous *string  `json:"previous"`
		At       any      `json:"at"`
		Notes    []string `json:"notes"`
		Counts   Counts   `json:"counts"`
	}{r.List, r.Task, r.previous(), r.At, r.Notes, r.Counts})
	if err == nil {
		_, err = w.Write(bytes.TrimSuffix(head, []byte("}")))
	}
	for _, section := range []string{
		SectionNew, SectionFixed, SectionChanged, SectionAccepted, SectionNewlyHigh, SectionNoLongerHigh, SectionFailed, SectionUnreached, SectionNotScanned,
	} {
		if err == nil {
			_, err = fmt.Fprintf(w, ",%q:[", section)
		}
		if s := j.sections[section]; s != nil && err == nil {
			err = s.copyTo(w)
		}
		if err == nil {
			_, err = io.WriteString(w, "]")
		}
	}
	if err == nil {
		_, err = io.WriteString(w, "}\n")
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

func (s *spool) copyTo(w io.Writer) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}
