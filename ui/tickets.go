// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// How many tickets a page has, and how many held ones of a task are looked at to tell which hosts work on it.
const (
	ticketsShown = 50
	heldCounted  = 200
)

// states are all that a ticket can be filtered by, in the order of the flow.
var states = []string{
	client.StateInit, client.StateAssetOnline, client.StateAssetOffline, client.StateVulnCheckDone, client.StateHighRiskFound, client.StateGathered,
	client.StateNotifying, client.StateNotified, client.StateFinished, client.StateFailed,
}

// ages are what since can be.
var ages = []string{"1h", "24h", "168h"}

type tickets struct {
	client.TicketList
	Query  url.Values // the filters, as they are in the address
	States []string
	Ages   []string
	Marks  []mark
	Task   *progress // of the task that is filtered by
	Next   string    // the address of the next page, or empty
	Empty  bool      // nothing is filtered
}

// mark is a filter that is on or off.
type mark struct {
	Name, Label string
	On          bool
}

// marks are those filters.
var marks = []mark{{Name: "high_risk", Label: "High risk"}, {Name: "failed", Label: "Failed"}, {Name: "held", Label: "Held now"}, {Name: "stuck", Label: "Stuck"}}

func ticketsPage(v *visit) (any, error) {
	t := tickets{Query: v.query, States: states, Ages: ages, Marks: slices.Clone(marks)}
	on := func(name string) bool { return v.query.Get(name) == "true" }
	for i := range t.Marks {
		t.Marks[i].On = on(t.Marks[i].Name)
	}
	q := client.TicketQuery{
		Asset: v.query.Get("asset"), Task: v.query.Get("task"), State: v.query.Get("state"), Host: v.query.Get("host"),
		HighRisk: on("high_risk"), Failed: on("failed"), Held: on("held"), Stuck: on("stuck"),
		Limit: ticketsShown, Cursor: client.Cursor(v.query.Get("cursor")),
	}
	if age := v.query.Get("since"); age != "" {
		d, err := time.ParseDuration(age)
		if err != nil || d <= 0 {
			return nil, errors.New("since must be a duration such as 1h")
		}
		q.Since = v.now.Add(-d)
	}
	var err error
	if t.TicketList, err = v.Tickets(v, q); err != nil {
		return nil, err
	}
	if q.Task != "" {
		if t.Task, err = v.taskProgress(q.Task); err != nil {
			return nil, err
		}
	}
	if t.Cursor != "" {
		t.Next = t.With("cursor", string(t.Cursor))
	}
	t.Empty = q.Asset+q.Task+q.State+q.Host+v.query.Get("since") == "" && !q.HighRisk && !q.Failed && !q.Held && !q.Stuck
	return t, nil
}

// With is this page's address with one filter changed, at the first page.
func (t tickets) With(name, value string) string {
	q := maps.Clone(t.Query)
	q.Del("cursor")
	q.Set(name, value)
	maps.DeleteFunc(q, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	return cmp.Or("/tickets?"+q.Encode(), "/tickets")
}

// taskProgress is how far a task is, and which hosts work on it; nil where there is no such task.
func (v *visit) taskProgress(name string) (*progress, error) {
	body, err := v.Client.Task(v, name)
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == client.TaskNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := progressOf(body.Task)
	held, err := v.Tickets(v, client.TicketQuery{Task: name, Held: true, Limit: heldCounted})
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, t := range held.Tickets {
		if t.Holder != nil { // or its claim has just ended
			counts[t.Holder.Host]++
		}
	}
	for _, host := range slices.Sorted(maps.Keys(counts)) {
		p.Hosts = append(p.Hosts, hostAt{host, counts[host]})
	}
	p.More = held.Cursor != ""
	return &p, nil
}
