// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// alreadyTold looks for tickets of the same asset whose notification is not older than notification.repeat and told all that
// is known now, for all the reasons that hold now: the same findings or more of them, none of them less grave. In what was
// assessed since, all of them must have been there, and counted: what was gone or accepted and has come back is news.
//
// Told is who has a receipt, channel by channel: what was refused, or is still on its way, has told nobody. Channels that were
// meant then and have no receipt are in Open, to be told now. All times are Redis'. It returns nil when nobody has been told.
func (j *job) alreadyTold(ctx context.Context, e verdict.Evidence, facts json.RawMessage) (*verdict.ToldBy, error) {
	repeat := j.a.config.Notification.Repeat
	if repeat == 0 {
		return nil, nil
	}
	oldest := j.now().Add(-time.Duration(repeat))
	earlier, err := j.assessedSince(ctx, oldest)
	if err != nil {
		return nil, fmt.Errorf("cannot look for what was told earlier: %w", err)
	}
	if slices.ContainsFunc(earlier, func(t client.Ticket) bool { return t.Damaged != "" }) {
		return nil, nil // nobody knows what was there
	}
	var now verdict.AssessFacts
	_ = json.Unmarshal(facts, &now) // a command's may be of another form
	var told *verdict.ToldBy        // the first receipts
	meant, has := map[string]bool{}, map[string]bool{}
	teller := "" // the ticket that one of those in between names
	for _, t := range earlier {
		if teller != "" && t.ID != teller {
			continue // looked at when the one that names the teller was assessed
		}
		err := j.follow(ctx, func(ctx context.Context) (err error) {
			t, err = j.a.client.Ticket(ctx, t.Asset, t.Task) // listings leave facts out
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read what was told earlier: %w", err)
		}
		before, err := verdict.CountedOf(t)
		if err != nil || !before.Has(e) {
			break // or an agent of another kind assessed it: nobody knows what was there
		}
		var then verdict.AssessFacts
		_ = json.Unmarshal(t.Steps[client.StepAssess].Facts, &then)
		if n := t.Notification; n != nil {
			for name := range t.Delivery {
				meant[name] = true
			}
			if n.At.Before(oldest) || verdict.Worse(e, before) || verdict.NewReason(now, then) {
				break
			}
			for name, d := range t.Delivery {
				has[name] = has[name] || d.Status == client.DeliverySent
			}
			if verdict.WasTold(t) && told == nil {
				told = &verdict.ToldBy{Ticket: t.ID, At: n.At, Repeat: inDays(repeat)}
			}
			if then.ToldBy == nil {
				break
			}
		}
		if then.ToldBy != nil {
			teller = then.ToldBy.Ticket
			for _, name := range then.ToldBy.On {
				meant[name] = true // it may be too long ago by now
			}
		}
	}
	if told == nil {
		return nil, nil
	}
	for name, ok := range has {
		if ok {
			told.On = append(told.On, name)
		}
	}
	slices.Sort(told.On)
	told.Open, err = j.openChannels(ctx, meant, has)
	return told, err
}

// openChannels are those that were meant and have no receipt, as far as the daemon still has them.
func (j *job) openChannels(ctx context.Context, meant, has map[string]bool) (open []string, err error) {
	maps.DeleteFunc(meant, func(name string, _ bool) bool { return has[name] })
	if len(meant) == 0 {
		return nil, nil
	}
	var status client.Status
	err = j.follow(ctx, func(ctx context.Context) (err error) {
		status, err = j.a.client.Status(ctx)
		return err
	})
	for _, c := range status.Channels {
		if meant[c.Name] {
			open = append(open, c.Name)
		}
	}
	return open, err
}

// assessedSince lists the asset's other tickets that were assessed, or are damaged, and were written since then, without facts, the one
// assessed last first.
func (j *job) assessedSince(ctx context.Context, oldest time.Time) ([]client.Ticket, error) {
	var all []client.Ticket
	for cursor := client.Cursor(""); ; {
		var page client.TicketList
		err := j.follow(ctx, func(ctx context.Context) (err error) {
			page, err = j.a.client.Tickets(ctx, client.TicketQuery{Asset: j.ticket.Asset, Exact: true, Since: oldest, Limit: 100, Cursor: cursor})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tickets {
			if _, assessed := t.Steps[client.StepAssess]; (assessed || t.Damaged != "") && t.ID != j.ticket.ID && t.UpdatedAt.After(oldest) {
				all = append(all, t)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			slices.SortStableFunc(all, func(a, b client.Ticket) int {
				return b.Steps[client.StepAssess].At.Compare(a.Steps[client.StepAssess].At)
			})
			return all, nil
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
