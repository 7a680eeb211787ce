// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/supervise"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// quietFor is how long a report without an end of its own must not have been written to, to be taken for whole.
const quietFor = 10 * time.Second

// readFile reads a report that something else has written. It must be whole, of this run of the ticket, and of this asset. A
// report that names no asset is told so in its notes.
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
		err = j.belongs(ctx, before.ModTime(), *report)
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

// belongs says whether a report is of this asset, and not older than this run of its ticket, or max_age.
func (j *job) belongs(ctx context.Context, written time.Time, r findings.Report) error {
	made := written
	if !r.Made.IsZero() {
		made = r.Made
	}
	oldest, than := time.Now().Add(-time.Duration(j.a.config.Step.Vuln.MaxAge)), "max_age"
	if j.a.config.Step.Vuln.MaxAge == 0 {
		begun, err := j.begun(ctx)
		if err != nil {
			return fmt.Errorf("%w: set max_age if its time does not matter", err)
		}
		oldest, than = j.here(begun).Truncate(time.Second), "its ticket: set max_age if that is right"
		if j.ticket.Run > 1 {
			than = fmt.Sprintf("run %d of %s", j.ticket.Run, than)
		}
	}
	if made.Before(oldest) {
		return fmt.Errorf("it is of %s, and older than %s", made.UTC().Format(verdict.TimeForm), than)
	}
	if foreign := r.Foreign(j.ticket.Asset); len(foreign) > 0 {
		return fmt.Errorf("it is of another asset: it says %s", verdict.BriefList(foreign, 3))
	}
	return nil
}

// begun is when this run of the ticket began: a ticket that is reopened keeps the time of its making.
func (j *job) begun(ctx context.Context) (time.Time, error) {
	if j.ticket.Run <= 1 {
		return j.ticket.CreatedAt, nil
	}
	var h client.History
	err := j.follow(ctx, func(ctx context.Context) (err error) {
		h, err = j.a.client.History(ctx, j.ticket.Asset, j.ticket.Task)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot tell when the ticket was reopened: %w", err)
	}
	for _, e := range slices.Backward(h.Events) {
		if e.Event == "reopened" {
			return e.At, nil
		}
	}
	return time.Time{}, errors.New("cannot tell when the ticket was reopened: its history does not say")
}
