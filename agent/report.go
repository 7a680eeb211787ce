// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/agent/verdict"
)

// quietFor is how long a report without an end of its own must not have been written to, to be taken for whole.
const quietFor = 10 * time.Second

// readFile reads a report that something else has written. It must be whole, of this ticket's time, and of this asset. A report
// that names no asset is told so in its notes.
func (j *job) readFile(ctx context.Context, limit int64, consume func(io.Reader) error, report *findings.Report) error {
	path, err := j.a.plan.file.fill(j.values())
	if err != nil {
		return permanent{err}
	}
	f, err := findings.Open(path)
	if err != nil {
		return blame(fmt.Errorf("cannot read the report %s: %w", path, err))
	}
	defer f.Close()
	before, err := f.Stat()
	if err == nil {
		err = consume(supervise.Limit(f, limit))
	}
	if err == nil {
		err = isWhole(ctx, f, before, *report)
	}
	if err == nil {
		err = j.belongs(before.ModTime(), *report)
	}
	if err != nil {
		return fmt.Errorf("the report %s cannot be used: %w", path, err)
	}
	if len(report.Targets) == 0 {
		report.Notes = append(report.Notes, "the report does not say which asset it is of")
	}
	return nil
}

// isWhole says whether a file is as it was before it was read, and is not being written: one whose format has an end was seen
// to be whole, any other must not have been written to for a while.
func isWhole(ctx context.Context, f *os.File, before os.FileInfo, r findings.Report) error {
	if !r.Ended && len(r.Findings) == 0 && len(r.Targets) == 0 {
		return errors.New("it is empty: that may be a scan which found nothing, or none at all; let the scanner run as command")
	}
	if wait := quietFor - time.Since(before.ModTime()); !r.Ended && wait > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it was written to just now: %w", context.Cause(ctx))
		case <-time.After(min(wait, quietFor)):
		}
	}
	after, err := f.Stat()
	if err == nil && (after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())) {
		err = errors.New("it is being written")
	}
	return err
}

// belongs says whether a report is of this asset, and not older than its ticket or max_age.
func (j *job) belongs(written time.Time, r findings.Report) error {
	made := written
	if !r.Made.IsZero() {
		made = r.Made
	}
	oldest, than := j.here(j.ticket.CreatedAt).Truncate(time.Second), "its ticket: set max_age if that is right"
	if age := j.a.config.Step.Vuln.MaxAge; age > 0 {
		oldest, than = time.Now().Add(-time.Duration(age)), "max_age"
	}
	if made.Before(oldest) {
		return fmt.Errorf("it is of %s, and older than %s", made.UTC().Format(verdict.TimeForm), than)
	}
	if foreign := r.Foreign(j.ticket.Asset); len(foreign) > 0 {
		return fmt.Errorf("it is of another asset: it says %s", verdict.BriefList(foreign, 3))
	}
	return nil
}
