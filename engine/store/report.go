// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var reportScript = newScript("report")

const (
	// ListPart is how many assets each part of a list has, but for the last.
	ListPart = 1000

	// reportLease is how long a run counts as at work from when it was last heard of: three times what passes from one note to the next, and
	// longer than a claim without a sign of life lives by default.
	reportLease = 45 * time.Second
	reportRuns  = 1000 // of one report, at work at the same time
)

// A report has as many lists, or runs, as it may have.
var (
	ErrReportLists = errors.New("the report has 64 lists")
	ErrReportRuns  = errors.New("1000 runs are at work for the report")
)

// ReportNote says that a run works on a list, or has, of which a report is to tell.
type ReportNote struct {
	Ticket TicketID // of the report
	List   string   // its digest
	Total  int      // its assets
	Run    string   // an id by chance
	Works  bool     // the run has not done all that it can
}

// Report is what is noted of a report.
type Report struct {
	Age   time.Duration  // since it was noted first
	Works int            // other runs that are at work, as far as they were heard of lately
	Lists map[string]int // of all runs: how many assets each has, by its digest
	Parts int            // of the list that was asked for: how many are kept
}

// NoteReport notes a run for a report. Errors: ErrReportLists, ErrReportRuns, ErrUnavailable.
func (s *Store) NoteReport(ctx context.Context, n ReportNote) (Report, error) {
	lease := time.Duration(0)
	if n.Works {
		lease = reportLease
	}
	v, err := reportScript.Run(ctx, s.c.Redis, []string{s.Keys.report(n.Ticket)},
		n.List, n.Total, n.Run, lease.Milliseconds(), s.c.Keep.Milliseconds(), listsMost, reportRuns).Slice()
	if err != nil {
		return Report{}, Unavailable(err)
	}
	r := reply{rest: v}
	if r.number(0) == 0 {
		return Report{}, map[string]error{"list": ErrReportLists, "run": ErrReportRuns}[r.text(1)]
	}
	known := Report{Age: time.Duration(r.number(1)) * time.Millisecond, Works: int(r.number(2)), Lists: map[string]int{}}
	for i := 3; i+1 < len(v); i += 2 {
		known.Lists[r.text(i)] = int(number(r.text(i + 1)))
	}
	key := s.Keys.list(n.List)
	var parts *redis.IntCmd
	_, err = s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		parts = p.HLen(ctx, key)
		p.PExpire(ctx, key, s.c.Keep)
		return nil
	})
	if err != nil {
		return Report{}, Unavailable(err)
	}
	known.Parts = int(parts.Val())
	return known, nil
}

// PutPart keeps a part of a list, by its digest, for as long as tickets are kept. Who reads the list finds out whether all of it is what the digest
// is of. Errors: ErrUnavailable.
func (s *Store) PutPart(ctx context.Context, digest string, part int, of []Asset) error {
	names := make([]string, len(of))
	for i, a := range of {
		names[i] = string(a)
	}
	key := s.Keys.list(digest)
	_, err := s.c.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, strconv.Itoa(part), strings.Join(names, "\n"))
		p.PExpire(ctx, key, s.c.Keep)
		return nil
	})
	return unavailableOrNil(err)
}

// Part reads a part of a list; none when it is not kept. Errors: ErrUnavailable.
func (s *Store) Part(ctx context.Context, digest string, part int) ([]Asset, error) {
	names, err := s.c.Redis.HGet(ctx, s.Keys.list(digest), strconv.Itoa(part)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, Unavailable(err)
	}
	var of []Asset
	for name := range strings.SplitSeq(names, "\n") {
		of = append(of, Asset(name))
	}
	return of, nil
}
