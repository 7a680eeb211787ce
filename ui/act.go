// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/picketd/picket/sockapi/client"
)

// decision is what an administrator can do. On are the statuses of a channel that it is about; none: it is about the ticket or the asset.
type decision struct {
	Name, Label, Explains, Done string
	On                          []string
	call                        func(context.Context, *client.Client, subject) error
}

// subject is what a decision is about.
type subject struct{ Asset, Task, Channel, Reason string }

// resolve makes a decision's call of one of the client's.
func resolve(call func(*client.Client, context.Context, string, string, string, string) (client.Ticket, error)) func(context.Context, *client.Client, subject) error {
	return func(ctx context.Context, c *client.Client, s subject) error {
		_, err := call(c, ctx, s.Asset, s.Task, s.Channel, s.Reason)
		return err
	}
}

// decisions is the table of all decisions.
var decisions = []decision{
	{
		Name: "retry", Label: "Send again", Done: "The notification is sent once more.",
		Explains: "It is sent once more from this host. Somebody who has got it may get it twice, under the same key.",
		On:       []string{client.DeliveryParked, client.DeliveryDead, client.DeliveryUnknown}, call: resolve((*client.Client).Retry),
	},
	{
		Name: "settle", Label: "It arrived", Done: "It is recorded that the notification arrived.",
		Explains: "It is recorded that the notification did arrive, and it is not sent again. Ask the people on the channel first.",
		On:       []string{client.DeliveryParked, client.DeliveryUnknown}, call: resolve((*client.Client).Settle),
	},
	{
		Name: "discard", Label: "Give up", Done: "The notification is given up on that channel.",
		Explains: "Nobody is told on this channel. Other channels of the notification are left as they are.",
		On:       []string{client.DeliveryParked, client.DeliveryDead, client.DeliveryUnknown, client.DeliveryPending}, call: resolve((*client.Client).Discard),
	},
	{
		Name: "reopen", Label: "Reopen", Done: "The ticket begins anew.",
		Explains: "The ticket begins anew in INIT, as the next run. What was recorded stays in its history.",
		call: func(ctx context.Context, c *client.Client, s subject) error {
			_, err := c.Reopen(ctx, s.Asset, s.Task, s.Reason)
			return err
		},
	},
	{
		Name: "break", Label: "Break the lock", Done: "The lock is broken: its holder can write nothing more.",
		Explains: "The asset's holder can write nothing more, on whatever host it is, and is told so. Somebody else may claim the asset at once, while what " +
			"the holder has started may still run.",
		call: func(ctx context.Context, c *client.Client, s subject) error { return c.Break(ctx, s.Asset, s.Reason) },
	},
}

// decisionsOn are those about a channel with a status.
func decisionsOn(status string) (some []decision) {
	for _, d := range decisions {
		if slices.Contains(d.On, status) {
			some = append(some, d)
		}
	}
	return some
}

type act struct {
	decision
	subject
	Address string // of the form
	Back    string
}

// asked is the decision that an address is about.
func asked(q url.Values) (act, error) {
	i := slices.IndexFunc(decisions, func(d decision) bool { return d.Name == q.Get("do") })
	a := act{subject: subject{Asset: q.Get("asset"), Task: q.Get("task"), Channel: q.Get("channel")}}
	if i < 0 || a.Asset == "" || a.Task == "" && decisions[i].Name != "break" {
		return a, errors.New("there is no such decision: go back, and choose one there")
	}
	a.decision = decisions[i]
	a.Address = link("/act", "do", a.Name, "asset", a.Asset, "task", a.Task, "channel", a.Channel)
	a.Back = link("/claims")
	if a.Task != "" {
		a.Back = ticketLink(a.Asset, a.Task)
	}
	return a, nil
}

// errReadOnly says that no decisions are made here.
var errReadOnly = errors.New("these pages are read-only: start picket ui without --read-only to decide")

func actPage(v *visit) (any, error) {
	a, err := asked(v.query)
	switch {
	case err != nil:
		return nil, err
	case v.readOnly:
		return nil, errReadOnly
	case !v.me.Admin:
		return nil, &client.Problem{Code: client.Forbidden, Detail: "only root and administrators decide: the user who started picket ui is neither"}
	}
	return a, nil
}
