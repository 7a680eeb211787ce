// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// outboxLimit is how many intents a listing has: of those that are not closed, and of those that are.
const outboxLimit = 1000

// askLimit is for how long a listing asks Redis about what is decided; the whole is answered within 5 s when Redis is away, too.
const askLimit = 2 * time.Second

type outboxQuery struct {
	Status string `json:"status,omitempty" enum:"staged,committed,adopted,closed,pending,sending,sent,unknown,parked,dead,discarded" doc:"Only intents in this status, or with a channel in it. Without it, those that are not closed, and those that wait for a person with a parked channel. Of dead and parked ones, those about which nobody has decided yet."`
}

// Tickets reads one.
type Tickets interface {
	Ticket(ctx context.Context, id store.TicketID) (store.Ticket, error)
}

// search is what is asked of the outbox for a listing.
type search struct {
	origins []outbox.Origin
	status  outbox.Status // that a channel has; empty: any
}

// searches says where intents of a status may be. A channel that is settled may belong to an intent that is closed.
func searches(status string) []search {
	open, closed := outbox.Unclosed(), []outbox.Origin{outbox.Closed}
	switch origin := outbox.Origin(status); origin {
	case "":
		return []search{{open, ""}, {closed, outbox.Parked}}
	case outbox.Staged, outbox.Committed, outbox.Adopted, outbox.Closed:
		return []search{{[]outbox.Origin{origin}, ""}}
	}
	if of := outbox.Status(status); of.Settled() {
		return []search{{open, of}, {closed, of}}
	}
	return []search{{open, outbox.Status(status)}}
}

func listIntents(c *call, q outboxQuery, _ noInput) (answer, error) {
	found, more, err := find(c.request.Context(), c.api.Engine, c.api.Outbox, q.Status)
	if err != nil {
		c.api.Logger.Error("cannot list the outbox", "error", err)
		return answer{}, problem(client.OutboxUnavailable, "this host's outbox cannot be read; see /readyz?verbose")
	}
	list := intentsAnswer(found)
	list.More = more
	return intentList(list), nil
}

// Outstanding are the intents that GET /v1/outbox lists for a status. Errors: the outbox' own.
func Outstanding(ctx context.Context, tickets Tickets, box Outbox, status string) ([]outbox.Intent, error) {
	found, _, err := find(ctx, tickets, box, status)
	return found, err
}

func find(ctx context.Context, tickets Tickets, box Outbox, status string) (found []outbox.Intent, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, one := range searches(status) {
		some, left, err := box.Find(one.origins, one.status, outboxLimit)
		if err != nil {
			return nil, false, err
		}
		if one.status == outbox.Parked || one.status == outbox.Dead {
			some = slices.DeleteFunc(some, func(in outbox.Intent) bool {
				return in.Origin == outbox.Closed && (succeeded(found, in, one.status) || !undecided(ctx, tickets, in, one.status))
			})
		}
		found, more = append(found, some...), more || left
	}
	return found, more, nil
}

// succeeded reports whether an open intent of the ticket, after a retry of another channel, has the channel of a closed one in status.
func succeeded(open []outbox.Intent, in outbox.Intent, status outbox.Status) bool {
	for name, d := range in.Channels {
		if d.Status == status && slices.ContainsFunc(open, func(o outbox.Intent) bool { return o.Ticket == in.Ticket && o.Channels[name].Status == status }) {
			return true
		}
	}
	return false
}

// undecided takes those channels in status out of a closed intent about which nobody has to decide any more: somebody did, maybe on
// another host, a retry has another outcome there, or the ticket is in another run. It reports whether one is left. When Redis cannot
// be asked, all are.
func undecided(ctx context.Context, tickets Tickets, in outbox.Intent, status outbox.Status) bool {
	t, err := tickets.Ticket(ctx, store.ID(store.Asset(in.Asset), in.Task))
	if err != nil {
		return !errors.Is(err, store.ErrTicketNotFound)
	}
	maps.DeleteFunc(in.Channels, func(name string, d outbox.Delivery) bool {
		is := t.Delivery[name]
		own := t.Intent == in.ID || is.At.UnixMilli() == d.At.UnixMilli()
		return d.Status == status && !(own && is.Status == status && t.Run == in.Run)
	})
	return hasChannelIn(in, status)
}

func getIntents(c *call, q outboxQuery, _ noInput) (answer, error) {
	found, err := c.api.Outbox.Ticket(c.ticket.String())
	switch {
	case err != nil:
		c.api.Logger.Error("cannot read the outbox", "error", err)
		return answer{}, problem(client.OutboxUnavailable, "this host's outbox cannot be read; see /readyz?verbose")
	case len(found) == 0:
		return answer{}, problem(client.IntentNotFound, "this host's outbox has no intent for the ticket; another host's may")
	}
	if q.Status != "" {
		found = slices.DeleteFunc(found, func(in outbox.Intent) bool {
			return string(in.Origin) != q.Status && !hasChannelIn(in, outbox.Status(q.Status))
		})
	}
	list := intentsAnswer(found)
	for i, in := range found {
		if whole, err := c.api.Outbox.Get(in.Ref); err == nil && in.Origin != outbox.Closed { // else it is closed by now
			list.Intents[i].Notification = wireContent(whole.Content)
		}
	}
	return intentList(list), nil
}

// intentsAnswer sorts intents by age, and puts them into the form of the wire.
func intentsAnswer(found []outbox.Intent) client.IntentList {
	slices.SortStableFunc(found, func(a, b outbox.Intent) int { return a.At.Compare(b.At) })
	list := client.IntentList{Intents: []client.Intent{}}
	for _, in := range found {
		list.Intents = append(list.Intents, wireIntent(in))
	}
	return list
}

func intentList(list client.IntentList) answer { return answer{status: http.StatusOK, body: &list} }

func hasChannelIn(in outbox.Intent, status outbox.Status) bool {
	for _, d := range in.Channels {
		if d.Status == status {
			return true
		}
	}
	return false
}
