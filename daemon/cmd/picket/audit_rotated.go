// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/picketd/picket/audit"
)

// markDelay is how long after a record the daemon notes that the journal took it: at its next tick, of a minute.
const markDelay = 2 * time.Minute

// compareMarks notes which numbers the journal took and has no more. What lies before all that it still has of the daemon, and
// before the journal's own beginning, rotation has taken. Who asks for a time by since is to have all of it, so there nothing is
// explained. Marks are in the order of the runs, whatever the clock did.
func compareMarks(runs map[string]*auditRun, order []*auditRun, marks []audit.Mark, since, begins time.Time) []*auditRun {
	oldest := true // the journal has nothing that is older than this mark
	for _, m := range marks {
		noted := m.Began.Add(-markDelay)
		if noted.Before(since) {
			continue
		}
		r := runs[m.Run]
		if r == nil {
			r = &auditRun{Run: m.Run, From: m.Began}
			runs[m.Run], order = r, append(order, r)
		}
		rotates := oldest && since.IsZero() && !begins.Before(noted)
		for _, lack := range (numbers{m.First, m.Last}).without(append([]numbers{{r.First, r.Last}}, r.told...)) {
			if rotates && (r.Last == 0 || lack.last < r.First) {
				r.rotated = append(r.rotated, lack)
			} else {
				r.gone = append(r.gone, lack)
			}
		}
		oldest = oldest && (r.Last == 0 || m.Last < r.First)
	}
	return order
}

// journalBegins is the time of the oldest entry that the journal has from the system's services, of whomever: files are rotated
// whole, so what is younger has not been rotated away.
func journalBegins(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := journalctl(ctx, "--system", "--output=json", "--no-pager", "--output-fields=PRIORITY")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return time.Time{}, exitf(exitUnavailable, "cannot run journalctl: %v", err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	cancel() // one entry is enough
	_ = cmd.Wait()
	var entry struct {
		Time string `json:"__REALTIME_TIMESTAMP"`
	}
	if err == nil {
		err = json.Unmarshal(line, &entry)
	}
	micros, bad := strconv.ParseInt(entry.Time, 10, 64)
	if err != nil || bad != nil {
		return time.Time{}, exitf(exitUnavailable, "cannot find out where the journal begins: journalctl said %q", line)
	}
	return time.UnixMicro(micros), nil
}

// tellRotated says what nobody can verify any more, since rotation took it, or something that looks like that.
func tellRotated(w io.Writer, runs []*auditRun, begins time.Time) {
	var records int64
	of := 0
	for _, r := range runs {
		for _, n := range r.rotated {
			records += n.last - n.first + 1
		}
		if len(r.rotated) > 0 {
			of++
		}
	}
	if of > 0 {
		fmt.Fprintf(w, "picket: the journal begins at %s; %d older records, of %s of the daemon, are in it no more. That is what rotation leaves, and also who deletes the oldest files or fills the journal.\n",
			clock(begins), records, plural(of, "run", "runs"))
	}
}
