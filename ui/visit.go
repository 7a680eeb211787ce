// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"time"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// visit is one look at a page: what it asks, and whom.
type visit struct {
	context.Context
	*client.Client
	readOnly bool
	query    url.Values
	now      time.Time     // by Redis' clock
	me       client.Status // of the daemon that is asked
}

// mayAct says whether decisions are offered.
func (v *visit) mayAct() bool { return v.me.Admin && !v.readOnly }

// view is what a template shows.
type view struct {
	Title, Page string
	Links       any // to all pages
	Now         time.Time
	Me          client.Status
	MayAct      bool
	ReadOnly    bool
	Still       bool
	Token       string
	Notice      string // what was decided a moment ago
	Trouble     string // why there are no data
	Data        any
}

// Ago is a time beside now as people say it, with the exact one in its title. t is a time.Time or a pointer to one; none is a dash.
func (v *view) Ago(t any) template.HTML {
	var at time.Time
	switch t := t.(type) {
	case time.Time:
		at = t
	case *time.Time:
		if t != nil {
			at = *t
		}
	}
	if at.IsZero() {
		return "–"
	}
	said := "just now"
	switch d := v.Now.Sub(at); {
	case d >= time.Second:
		said = about(d) + " ago"
	case d <= -time.Second:
		said = "in " + about(-d)
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.Format(time.RFC3339Nano), at.Format(verdict.TimeForm), said))
}

// about is a duration in the two units that say most of it.
func about(d time.Duration) string {
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min", minutes)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	}
	return plain.Count(hours/24, "day", "days")
}
