// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/sockapi/client"
)

// alreadyTold looks for a ticket of the same asset whose notification is not older than notification.repeat and told all that
// is known now: the same findings or more of them, none of them less grave. It returns nil when there is none.
func (j *job) alreadyTold(ctx context.Context, e evidence) (*toldBy, error) {
	repeat := j.a.config.Notification.Repeat
	if repeat == 0 {
		return nil, nil
	}
	oldest := time.Now().Add(-time.Duration(repeat))
	for cursor := ""; ; {
		var page client.TicketList
		err := j.follow(ctx, func() (err error) {
			page, err = j.a.client.Tickets(ctx, client.TicketQuery{Asset: j.ticket.Asset, Limit: 100, Cursor: cursor})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot look for what was told earlier: %w", err)
		}
		for _, t := range page.Tickets {
			if t.UpdatedAt.Before(oldest) {
				return nil, nil // the one written last comes first
			}
			if t.ID == j.ticket.ID || !wasTold(t) || t.Notification.At.Before(oldest) {
				continue
			}
			told, err := j.covers(ctx, t, e)
			if err != nil {
				return nil, err
			}
			if told {
				return &toldBy{t.ID, t.Notification.At, inDays(repeat)}, nil
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return nil, nil
		}
	}
}

// inDays is a duration as people write one: 7d, not 168h.
func inDays(d strict.Duration) string {
	const day = strict.Duration(24 * time.Hour)
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// wasTold says whether a ticket's notification has reached somebody, or is on its way.
func wasTold(t client.Ticket) bool {
	if t.Notification == nil {
		return false
	}
	for _, d := range t.Delivery {
		if slices.Contains([]string{"pending", "sending", "sent", "unknown"}, d.Status) {
			return true
		}
	}
	return false
}

// covers says whether an earlier ticket told all that is known now.
func (j *job) covers(ctx context.Context, earlier client.Ticket, e evidence) (bool, error) {
	err := j.follow(ctx, func() (err error) {
		earlier, err = j.a.client.Ticket(ctx, earlier.Asset, earlier.Task) // listings leave facts out
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot read what was told earlier: %w", err)
	}
	before, err := evidenceOf(earlier)
	if err != nil {
		return false, nil // an agent of another kind told it: nobody knows what
	}
	if e.KEV && !before.KEV || e.MaxCVSS > before.MaxCVSS {
		return false, nil
	}
	if before.digest != e.digest && e.Count > len(e.findings) {
		return false, nil // some are not listed, so nothing tells whether they are new
	}
	known := map[string]findings.Finding{}
	for _, f := range before.findings {
		known[identity(f)] = f
	}
	for _, f := range e.findings {
		old, ok := known[identity(f)]
		if !ok && before.digest != e.digest || ok && graver(f, old) {
			return false, nil
		}
	}
	return true, nil
}

// graver says whether a finding has become more severe.
func graver(now, before findings.Finding) bool {
	return slices.Index(severities, now.Severity) > slices.Index(severities, before.Severity) || now.CVSS > before.CVSS ||
		now.KEV && !before.KEV
}
