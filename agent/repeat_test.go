// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// past is a daemon that knows some earlier tickets, and nothing else.
type past []client.Ticket

func (p past) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/tickets" {
		_ = json.NewEncoder(w).Encode(client.TicketList{Tickets: p})
		return
	}
	if r.URL.Path == "/v1/status" {
		_ = json.NewEncoder(w).Encode(client.Status{Channels: []client.ChannelInfo{{Name: "mail"}, {Name: "ops"}}})
		return
	}
	for _, t := range p {
		if r.URL.Path == "/v1/tickets/web-01/"+t.Task {
			_ = json.NewEncoder(w).Encode(client.TicketBody{Ticket: t})
		}
	}
}

// clientOf is a client of a daemon that answers like that.
func clientOf(t *testing.T, answers http.Handler) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-agent-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: answers}}
	server.Start()
	cl := client.New(filepath.Join(dir, "s"))
	t.Cleanup(func() {
		cl.CloseIdleConnections()
		server.Close()
		_ = os.RemoveAll(dir)
	})
	return cl
}

// TestPeopleAreToldAgainOfWhatIsNew: and of nothing else, while notification.repeat lasts.
func TestPeopleAreToldAgainOfWhatIsNew(t *testing.T) {
	t.Parallel()
	a := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10, EPSS: 0.1}
	b := findings.Finding{ID: "CVE-2020-0001", Severity: "critical", CVSS: 9.1}
	likely, exploited := a, a
	likely.EPSS, exploited.KEV = 0.7, true
	type scan struct {
		found  []findings.Finding
		status string // of the delivery; empty when people were not told
		days   int    // ago
	}
	one := func(f ...findings.Finding) []findings.Finding { return f }
	for name, c := range map[string]struct {
		past []scan // the oldest first
		now  []findings.Finding
		by   string
	}{
		"for the first time":           {nil, one(a), ""},
		"the same":                     {[]scan{{one(a), "sent", 1}}, one(a), "t0"},
		"on its way":                   {[]scan{{one(a), "pending", 1}}, one(a), ""},
		"refused":                      {[]scan{{one(a), "dead", 1}}, one(a), ""},
		"nobody knows":                 {[]scan{{one(a), "unknown", 1}}, one(a), ""},
		"nobody got it":                {[]scan{{one(a), "discarded", 1}}, one(a), ""},
		"less":                         {[]scan{{one(a, b), "sent", 1}}, one(b), "t0"},
		"more":                         {[]scan{{one(a), "sent", 1}}, one(a, b), ""},
		"too long ago":                 {[]scan{{one(a), "sent", 8}}, one(a), ""},
		"EPSS has risen":               {[]scan{{one(a), "sent", 1}}, one(likely), ""},
		"it is exploited now":          {[]scan{{one(a), "sent", 1}}, one(exploited), ""},
		"found, gone, found":           {[]scan{{one(a), "sent", 3}, {nil, "", 2}}, one(a), ""},
		"found, another, found":        {[]scan{{one(a), "sent", 3}, {one(b), "sent", 2}}, one(a), ""},
		"there all the time":           {[]scan{{one(a), "sent", 3}, {one(a), "", 2}, {one(a), "", 1}}, one(a), "t0"},
		"gone for a while, told since": {[]scan{{one(a), "sent", 4}, {nil, "", 3}, {one(a), "sent", 2}, {one(a), "", 1}}, one(a), "t2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const config = "[notification]\nrepeat = \"7d\"\n"
			var known past
			told := ""
			for i, s := range c.past {
				old := jobOn(t, config, s.found...)
				old.a.client = clientOf(t, past{})
				old.ticket.Task = fmt.Sprintf("t%d", i)
				old.ticket.ID = "web-01/" + old.ticket.Task
				got, err := old.assess(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				at := time.Now().Add(-time.Duration(s.days) * 24 * time.Hour)
				if s.status != "" {
					told = old.ticket.ID
					old.ticket.Notification = &client.Notification{At: at}
					old.ticket.Delivery = map[string]client.Delivery{"ops": {Status: s.status}}
				} else if got.State == client.StateHighRiskFound {
					addition, err := plain.JSON(map[string]any{"told_by": verdict.ToldBy{Ticket: told}})
					if err != nil {
						t.Fatal(err)
					}
					if got.Facts, err = verdict.Merged(got.Facts, addition); err != nil {
						t.Fatal(err)
					}
				}
				old.ticket.UpdatedAt = at
				old.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts, At: at}
				known = append(past{old.ticket}, known...)
			}
			j := jobOn(t, config, c.now...)
			j.a.client = clientOf(t, known)
			got, err := j.assess(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			by := ""
			if f := decoded[verdict.AssessFacts](t, got.Facts); f.ToldBy != nil {
				by = f.ToldBy.Ticket
			}
			if want := c.by; by != want && by != "web-01/"+want || (want == "") != (got.State == client.StateHighRiskFound) {
				t.Errorf("it is %s, told by %q, want %q", got.State, by, want)
			}
		})
	}
}

// TestWhatIsNotToldAgainIsStillAHighRisk, by a command too, whose facts do not say so.
func TestWhatIsNotToldAgainIsStillAHighRisk(t *testing.T) {
	t.Parallel()
	const config = "[notification]\nrepeat = \"7d\"\n[step.assess]\ncommand = [\"echo\", '{\"state\": \"HIGH_RISK_FOUND\"}']\n"
	a := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	before, j := jobOn(t, config, a), jobOn(t, config, a)
	before.ticket.Task, before.ticket.ID = "t0", "web-01/t0"
	before.ticket.Steps[client.StepAssess] = client.Step{State: client.StateHighRiskFound, Facts: json.RawMessage("{}"), At: time.Now()}
	before.ticket.Notification = &client.Notification{At: time.Now()}
	before.ticket.Delivery = map[string]client.Delivery{"ops": {Status: client.DeliverySent}}
	j.a.client = clientOf(t, past{before.ticket})
	got, err := j.assess(t.Context())
	if f := decoded[verdict.AssessFacts](t, got.Facts); err != nil || got.State != client.StateFinished || f.ToldBy == nil || !f.HighRisk {
		t.Errorf("it is %s with %s, %v", got.State, got.Facts, err)
	}
}

// TestWhatIsOpenIsToldAgain: on the channels where nobody has got it, and by Redis' clock, however wrong that of this host is.
func TestWhatIsOpenIsToldAgain(t *testing.T) {
	t.Parallel()
	const config = "[notification]\nrepeat = \"7d\"\n"
	a := findings.Finding{ID: "CVE-2021-44228", Severity: "critical", CVSS: 10}
	redis := time.Now().Add(-1000 * time.Hour)
	ticket := func(task string, days int, by *verdict.ToldBy, delivery map[string]client.Delivery) client.Ticket {
		j := jobOn(t, "", a)
		got, err := j.assess(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if by != nil {
			addition, err := plain.JSON(map[string]any{"told_by": by})
			if err != nil {
				t.Fatal(err)
			}
			if got.Facts, err = verdict.Merged(got.Facts, addition); err != nil {
				t.Fatal(err)
			}
		}
		at := redis.Add(-time.Duration(days) * 24 * time.Hour)
		j.ticket.Task, j.ticket.ID, j.ticket.UpdatedAt = task, "web-01/"+task, at
		j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts, At: at}
		j.ticket.Notification, j.ticket.Delivery = &client.Notification{At: at}, delivery
		return j.ticket
	}
	sent, dead := client.Delivery{Status: client.DeliverySent}, client.Delivery{Status: client.DeliveryDead}
	first := ticket("t0", 2, nil, map[string]client.Delivery{"ops": sent, "mail": dead, "gone": dead})
	second := ticket("t1", 1, &verdict.ToldBy{Ticket: "web-01/t0", Open: []string{"mail"}}, map[string]client.Delivery{"mail": sent})
	for name, c := range map[string]struct {
		past  past
		state string
		open  []string
	}{
		"one channel is open":            {past{first}, client.StateHighRiskFound, []string{"mail"}},
		"it was told since":              {past{second, first}, client.StateFinished, nil},
		"by this host's clock, long ago": {past{ticket("t0", 6, nil, map[string]client.Delivery{"ops": sent})}, client.StateFinished, nil},
		"the other is too old":           {past{ticket("t1", 1, &verdict.ToldBy{Ticket: "web-01/t0", On: []string{"ops"}}, map[string]client.Delivery{"mail": sent}), ticket("t0", 8, nil, map[string]client.Delivery{"ops": sent})}, client.StateHighRiskFound, []string{"ops"}},
		"too long ago":                   {past{ticket("t0", 8, nil, map[string]client.Delivery{"ops": sent})}, client.StateHighRiskFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := jobOn(t, config, a)
			j.ticket.UpdatedAt = redis
			j.a.client = clientOf(t, c.past)
			got, err := j.assess(t.Context())
			if err != nil || got.State != c.state {
				t.Fatalf("it is %+v, %v", got, err)
			}
			j.ticket.Steps[client.StepAssess] = client.Step{State: got.State, Facts: got.Facts}
			if n, err := j.notification(); err != nil || !slices.Equal(n.Channels, c.open) {
				t.Errorf("it is told on %v, %v", n.Channels, err)
			}
		})
	}
}
