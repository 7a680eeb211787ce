// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Claim asks for the right to advance a ticket. When the ticket is terminal, the answer's Claim is nil. A *Problem with
// LockHeld names the holder. A request without a name is given one, so that it is sent again, for a while, when its answer is lost with
// the daemon. An older daemon, which knows no names, gets it without one, and then it is not sent again.
func (c *Client) Claim(ctx context.Context, r ClaimRequest) (ClaimResponse, error) {
	var a ClaimResponse
	if r.Request == "" {
		r.Request = rand.Text()
	}
	start := time.Now()
	patience, _ := time.ParseDuration(r.Wait) // the daemon says what is wrong with it
	ask := func() error {
		if patience > 0 {
			r.Wait = max(patience-time.Since(start), 0).String()
		}
		return c.once(ctx, http.MethodPost, "/v1/claims", &r, &a)
	}
	err := c.followLost(ctx, ask)
	if len(r.Request) <= maxRequestName && Refuses(err, "body.request") {
		r.Request = ""
		err = c.follow(ctx, ask)
	}
	return a, err
}

// Claims lists the caller's held claims, or for root everybody's.
func (c *Client) Claims(ctx context.Context) (ClaimList, error) {
	return ask[ClaimList](ctx, c, http.MethodGet, "/v1/claims", nil)
}

// GetClaim reads a claim. One that ended is answered with its status as long as the daemon remembers it.
func (c *Client) GetClaim(ctx context.Context, id string) (Claim, error) {
	a, err := ask[ClaimBody](ctx, c, http.MethodGet, claimPath(id), nil)
	return a.Claim, err
}

// WatchClaim returns at once when the claim is not held, when it ends, and at latest after wait or a third of the lock's TTL,
// whichever is less, with what trust is left then. wait is at most 10 min.
func (c *Client) WatchClaim(ctx context.Context, id string, wait time.Duration) (Claim, error) {
	a, err := ask[ClaimBody](ctx, c, http.MethodGet, claimPath(id)+"?wait="+url.QueryEscape(wait.String()), nil)
	return a.Claim, err
}

// Heartbeat gives a sign of life.
func (c *Client) Heartbeat(ctx context.Context, id string) (Claim, error) {
	a, err := ask[ClaimBody](ctx, c, http.MethodPost, claimPath(id)+"/heartbeat", nil)
	return a.Claim, err
}

// Step records a step's result, once.
func (c *Client) Step(ctx context.Context, id string, r StepRequest) (StepResponse, error) {
	return ask[StepResponse](ctx, c, http.MethodPost, claimPath(id)+"/steps", &r)
}

// Fail records that a step failed. The error may be what a program wrote to a terminal: see Plain.
func (c *Client) Fail(ctx context.Context, id string, r FailureRequest) (FailureResponse, error) {
	r.Error = Plain(r.Error)
	return ask[FailureResponse](ctx, c, http.MethodPost, claimPath(id)+"/failures", &r)
}

// Notify has people told. When it returns, the notification is accepted and will be delivered. It waits for the delivery at
// most wait, which is at most 10 min: the answer's ticket is in NOTIFYING if that was not enough.
func (c *Client) Notify(ctx context.Context, id string, r NotificationRequest, wait time.Duration) (NotificationResponse, error) {
	path := claimPath(id) + "/notification"
	if wait > 0 {
		path += "?wait=" + url.QueryEscape(wait.String())
	}
	return ask[NotificationResponse](ctx, c, http.MethodPost, path, &r)
}

// Finish moves the ticket to FINISHED and releases the claim. In NOTIFYING it only releases; the receipts finish the ticket.
func (c *Client) Finish(ctx context.Context, id, summary string) (Ticket, error) {
	a, err := ask[TicketBody](ctx, c, http.MethodPost, claimPath(id)+"/finish", &FinishRequest{Summary: summary})
	return a.Ticket, err
}

// Release ends a claim and leaves its ticket as it is.
func (c *Client) Release(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, claimPath(id), nil, nil)
}

// Ticket reads a ticket, without a lock.
func (c *Client) Ticket(ctx context.Context, asset, task string) (Ticket, error) {
	a, err := ask[TicketBody](ctx, c, http.MethodGet, ticketPath("tickets", asset, task), nil)
	return a.Ticket, err
}

// History reads what was written to a ticket and what was refused.
func (c *Client) History(ctx context.Context, asset, task string) (History, error) {
	return ask[History](ctx, c, http.MethodGet, ticketPath("tickets", asset, task)+"/history", nil)
}

// TicketQuery selects tickets. What is empty or false selects all.
type TicketQuery struct {
	Asset    string // with * at its end: those that begin so, unless Exact
	Exact    bool
	Task     string
	State    string
	Since    time.Time // of the last write
	Host     string    // where it is held, was held last, or a step was recorded
	HighRisk bool
	Failed   bool // a failure is recorded, or FAILED
	Damaged  bool
	Held     bool
	Stuck    bool
	Limit    int    // 1 to 1000. Defaults to 100
	Cursor   Cursor // that of the page before
}

// Tickets lists tickets, the one written last first, without facts. The cursor is empty on the last page.
func (c *Client) Tickets(ctx context.Context, q TicketQuery) (TicketList, error) {
	v := url.Values{}
	set(v, "asset", q.Asset)
	set(v, "task", q.Task)
	set(v, "state", q.State)
	set(v, "host", q.Host)
	set(v, "cursor", string(q.Cursor))
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	for name, wanted := range map[string]bool{"exact": q.Exact, "high_risk": q.HighRisk, "failed": q.Failed, "damaged": q.Damaged, "held": q.Held, "stuck": q.Stuck} {
		if wanted {
			v.Set(name, "true")
		}
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return ask[TicketList](ctx, c, http.MethodGet, "/v1/tickets?"+v.Encode(), nil)
}

// States reads how far tickets are, ASSET/TASK each, at most 1,000. One that is not there is nil.
func (c *Client) States(ctx context.Context, ids []string) (map[string]*TicketState, error) {
	a, err := ask[StatesResponse](ctx, c, http.MethodPost, "/v1/tickets/states", &StatesRequest{ids})
	return a.States, err
}

// Tasks lists tasks, the one written to last first: at most limit, or 100 when that is 0, after the page that gave the cursor.
func (c *Client) Tasks(ctx context.Context, limit int, cursor Cursor) (TaskList, error) {
	v := url.Values{}
	set(v, "cursor", string(cursor))
	if limit != 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	return ask[TaskList](ctx, c, http.MethodGet, "/v1/tasks?"+v.Encode(), nil)
}

// Task reads how far a task is.
func (c *Client) Task(ctx context.Context, task string) (TaskBody, error) {
	return ask[TaskBody](ctx, c, http.MethodGet, "/v1/tasks/"+url.PathEscape(task), nil)
}

// TaskWithNewRisks is Task, with how many of its high risks are new.
func (c *Client) TaskWithNewRisks(ctx context.Context, task string) (TaskBody, error) {
	return ask[TaskBody](ctx, c, http.MethodGet, "/v1/tasks/"+url.PathEscape(task)+"?new_risks=true", nil)
}

// Outbox lists the intents in this host's outbox that are in a status, or have a channel in it; if status is empty, those that
// are not closed or wait for a person.
func (c *Client) Outbox(ctx context.Context, status string) (IntentList, error) {
	v := url.Values{}
	set(v, "status", status)
	return ask[IntentList](ctx, c, http.MethodGet, "/v1/outbox?"+v.Encode(), nil)
}

// OutboxTicket reads a ticket's intents in this host's outbox, the closed ones too.
func (c *Client) OutboxTicket(ctx context.Context, asset, task string) (IntentList, error) {
	return ask[IntentList](ctx, c, http.MethodGet, ticketPath("outbox", asset, task), nil)
}

// Status reads what the daemon is and does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func claimPath(id string) string { return "/v1/claims/" + url.PathEscape(id) }

func ticketPath(resource, asset, task string) string {
	return "/v1/" + resource + "/" + url.PathEscape(asset) + "/" + url.PathEscape(task)
}

// TestChannel sends a harmless message on a channel of this daemon, once, and says what became of it. With severity empty it is
// an info. It is an admin call.
func (c *Client) TestChannel(ctx context.Context, name, severity string) (ChannelTest, error) {
	var a ChannelTest
	err := c.once(ctx, http.MethodPost, "/v1/channels/"+url.PathEscape(name)+"/test", ChannelTestRequest{severity}, &a)
	return a, err
}
