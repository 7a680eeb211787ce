// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// How many tickets of each state are looked through for what waits for a person, and how many waiting ones a page has.
const (
	lookedThrough = 1000
	waitingShown  = 50
)

// inQuestion are the statuses about which a person decides.
var inQuestion = []string{client.DeliveryParked, client.DeliveryDead}

type waiting struct {
	Notifications []undecided
	All           int
	From          int    // the first of the page, from 0
	Next, Before  string // addresses of the other pages, or empty
	Hosts         []client.Host
	Partly        bool // not all tickets were looked through
	Stuck         client.TicketList
	NextStuck     string
}

// undecided is a notification that waits for a person on one channel.
type undecided struct {
	Asset, Task, Channel, Status, Title, Error, Host string

	Attempts  int64
	At        *time.Time
	Decisions []decision
}

func waitingPage(v *visit) (any, error) {
	var w waiting
	found := map[string]undecided{}
	if err := w.fromTickets(v, found); err != nil {
		return nil, err
	}
	if err := w.fromOutbox(v, found); err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b undecided) int {
		return cmp.Or(timeOf(a.At).Compare(timeOf(b.At)), strings.Compare(a.Asset, b.Asset), strings.Compare(a.Channel, b.Channel))
	})
	w.page(v, all)
	hosts, err := v.Hosts(v)
	if err != nil {
		return nil, err
	}
	w.Hosts = slices.DeleteFunc(hosts.Hosts, func(h client.Host) bool { return h.Parked+h.Dead == 0 })
	// What waits for a decision stands above, and is not stuck for another reason.
	w.Stuck, err = v.Tickets(v, client.TicketQuery{Stuck: true, Limit: ticketsShown, Cursor: client.Cursor(v.query.Get("cursor"))})
	w.Stuck.Tickets = slices.DeleteFunc(w.Stuck.Tickets, func(t client.Ticket) bool { return t.State == client.StateNotifying && isUndecided(t) })
	if w.Stuck.Cursor != "" {
		w.NextStuck = link("/waiting", "cursor", string(w.Stuck.Cursor))
	}
	return w, err
}

// fromTickets looks at the tickets of the whole fleet whose notification is under way, or has failed.
func (w *waiting) fromTickets(v *visit, found map[string]undecided) error {
	for _, state := range []string{client.StateNotifying, client.StateFailed} {
		list, err := v.Tickets(v, client.TicketQuery{State: state, Limit: lookedThrough})
		if err != nil {
			return err
		}
		w.Partly = w.Partly || list.Cursor != "" || list.Incomplete
		for _, t := range list.Tickets {
			for name, d := range t.Delivery {
				if slices.Contains(inQuestion, d.Status) {
					found[t.ID+" "+name] = undecided{
						Asset: t.Asset, Task: t.Task, Channel: name, Status: d.Status, Title: t.Notification.Title, Error: d.Error, Host: d.Host,
						Attempts: d.Attempts, At: d.At, Decisions: decisionsOn(d.Status),
					}
				}
			}
		}
	}
	return nil
}

// fromOutbox adds what only this host's outbox knows: of more tickets than are looked through, and of tickets that Redis has lost.
func (w *waiting) fromOutbox(v *visit, found map[string]undecided) error {
	for _, status := range inQuestion {
		list, err := v.Outbox(v, status)
		if err != nil {
			return err
		}
		w.Partly = w.Partly || list.More
		for _, in := range list.Intents {
			for name, d := range in.Channels {
				if _, known := found[in.Ticket+" "+name]; known || d.Status != status {
					continue
				}
				found[in.Ticket+" "+name] = undecided{
					Asset: in.Asset, Task: in.Task, Channel: name, Status: d.Status, Error: d.Error, Host: v.me.Host,
					Attempts: int64(d.Attempts), At: d.At, Decisions: decisionsOn(d.Status),
				}
			}
		}
	}
	return nil
}

// page takes the part of all that is shown.
func (w *waiting) page(v *visit, all []undecided) {
	w.All = len(all)
	w.From, _ = strconv.Atoi(v.query.Get("from")) // what is no number is the first page
	w.From = max(0, min(w.From, w.All-1))
	end := min(w.From+waitingShown, w.All)
	w.Notifications = all[w.From:end]
	if end < w.All {
		w.Next = link("/waiting", "from", strconv.Itoa(end))
	}
	if w.From > 0 {
		w.Before = link("/waiting", "from", strconv.Itoa(max(0, w.From-waitingShown)))
	}
}

// First and Last are the numbers of the page's first and last notification, from 1.
func (w waiting) First() int { return w.From + 1 }

// Last is the page's last.
func (w waiting) Last() int { return w.From + len(w.Notifications) }

// isUndecided says whether a ticket's notification waits for a person on a channel.
func isUndecided(t client.Ticket) bool {
	for _, d := range t.Delivery {
		if slices.Contains(inQuestion, d.Status) {
			return true
		}
	}
	return false
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
