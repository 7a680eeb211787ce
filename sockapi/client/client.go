// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// ErrUnreachable says that no daemon could be connected to. The cause goes with it: fs.ErrNotExist for a socket that is not
// there, fs.ErrPermission for one that is not for this user.
var ErrUnreachable = errors.New("cannot reach the daemon")

// ErrNoAnswer says that a daemon, or systemd in its place, holds the socket and does not answer in time: see WithPatience.
var ErrNoAnswer = errors.New("the daemon does not answer")

// Client calls the daemon behind one socket. Its methods may be called at once. Besides what each says, they return
// ErrUnreachable, a *Problem, or the context's error.
type Client struct {
	socket   string
	patience time.Duration // see WithPatience; zero is without end
	http     *http.Client
}

// Option changes what New makes.
type Option func(*Client)

// WithPatience has a call end with ErrNoAnswer when its answer is not there within d, beyond the wait that the call itself asks
// for. TestChannel is left alone: it lasts as long as the channel's time-out. Whether a write was applied is not known then.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// New returns a client for a socket. It connects when it is first used.
func New(socketPath string, options ...Option) *Client {
	c := &Client{socket: socketPath}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:         c.dial,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 8,
			IdleConnTimeout:     30 * time.Second, // less than the daemon's, so that it is not the daemon who hangs up
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, o := range options {
		o(c)
	}
	return c
}

// dial connects. While the socket's queue is full, which the kernel says at once, it tries again for followFor at most.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	for start := time.Now(); ; {
		conn, err := d.DialContext(ctx, "unix", c.socket)
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) > followFor {
			return nil, unreachable{err}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// unreachable is an ErrUnreachable that keeps its cause.
type unreachable struct{ cause error }

func (e unreachable) Error() string   { return ErrUnreachable.Error() + ": " + e.cause.Error() }
func (e unreachable) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// CloseIdleConnections closes the connections that no call is using.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Claim asks for the right to advance a ticket. When the ticket is terminal, the answer's Claim is nil. A *Problem with
// LockHeld names the holder. A request without a name is given one, so that it is sent again, for a while, when its answer is lost with
// the daemon.
func (c *Client) Claim(ctx context.Context, r ClaimRequest) (ClaimResponse, error) {
	var a ClaimResponse
	if r.Request == "" {
		r.Request = rand.Text()
	}
	start := time.Now()
	patience, _ := time.ParseDuration(r.Wait) // the daemon says what is wrong with it
	err := c.followLost(ctx, func() error {
		if patience > 0 {
			r.Wait = max(patience-time.Since(start), 0).String()
		}
		return c.once(ctx, http.MethodPost, "/v1/claims", &r, &a)
	})
	return a, err
}

// Claims lists the caller's held claims, or for root everybody's.
func (c *Client) Claims(ctx context.Context) (ClaimList, error) {
	var a ClaimList
	err := c.call(ctx, http.MethodGet, "/v1/claims", nil, &a)
	return a, err
}

// GetClaim reads a claim. One that ended is answered with its status as long as the daemon remembers it.
func (c *Client) GetClaim(ctx context.Context, id string) (Claim, error) {
	var a ClaimBody
	err := c.call(ctx, http.MethodGet, claimPath(id), nil, &a)
	return a.Claim, err
}

// WatchClaim returns at once when the claim is not held, when it ends, and at latest after wait or a third of the lock's TTL,
// whichever is less, with what trust is left then. wait is at most 10 min.
func (c *Client) WatchClaim(ctx context.Context, id string, wait time.Duration) (Claim, error) {
	var a ClaimBody
	err := c.call(ctx, http.MethodGet, claimPath(id)+"?wait="+url.QueryEscape(wait.String()), nil, &a)
	return a.Claim, err
}

// Heartbeat gives a sign of life.
func (c *Client) Heartbeat(ctx context.Context, id string) (Claim, error) {
	var a ClaimBody
	err := c.call(ctx, http.MethodPost, claimPath(id)+"/heartbeat", nil, &a)
	return a.Claim, err
}

// Step records a step's result, once.
func (c *Client) Step(ctx context.Context, id string, r StepRequest) (StepResponse, error) {
	var a StepResponse
	err := c.call(ctx, http.MethodPost, claimPath(id)+"/steps", &r, &a)
	return a, err
}

// Fail records that a step failed. The error may be what a program wrote to a terminal: see Plain.
func (c *Client) Fail(ctx context.Context, id string, r FailureRequest) (FailureResponse, error) {
	var a FailureResponse
	r.Error = Plain(r.Error)
	err := c.call(ctx, http.MethodPost, claimPath(id)+"/failures", &r, &a)
	return a, err
}

// Notify has people told. When it returns, the notification is accepted and will be delivered. It waits for the delivery at
// most wait, which is at most 10 min: the answer's ticket is in NOTIFYING if that was not enough.
func (c *Client) Notify(ctx context.Context, id string, r NotificationRequest, wait time.Duration) (NotificationResponse, error) {
	var a NotificationResponse
	path := claimPath(id) + "/notification"
	if wait > 0 {
		path += "?wait=" + url.QueryEscape(wait.String())
	}
	err := c.call(ctx, http.MethodPost, path, &r, &a)
	return a, err
}

// Finish moves the ticket to FINISHED and releases the claim. In NOTIFYING it only releases; the receipts finish the ticket.
func (c *Client) Finish(ctx context.Context, id, summary string) (Ticket, error) {
	var a TicketBody
	err := c.call(ctx, http.MethodPost, claimPath(id)+"/finish", &FinishRequest{Summary: summary}, &a)
	return a.Ticket, err
}

// Release ends a claim and leaves its ticket as it is.
func (c *Client) Release(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, claimPath(id), nil, nil)
}

// Ticket reads a ticket, without a lock.
func (c *Client) Ticket(ctx context.Context, asset, task string) (Ticket, error) {
	var a TicketBody
	err := c.call(ctx, http.MethodGet, ticketPath("tickets", asset, task), nil, &a)
	return a.Ticket, err
}

// History reads what was written to a ticket and what was refused.
func (c *Client) History(ctx context.Context, asset, task string) (History, error) {
	var a History
	err := c.call(ctx, http.MethodGet, ticketPath("tickets", asset, task)+"/history", nil, &a)
	return a, err
}

// TicketQuery selects tickets. Empty fields select all.
type TicketQuery struct {
	Asset  string
	State  string
	Limit  int    // 1 to 1000. Defaults to 100
	Cursor string // that of the page before
}

// Tickets lists tickets, the one written last first, without facts. The cursor is empty on the last page.
func (c *Client) Tickets(ctx context.Context, q TicketQuery) (TicketList, error) {
	v := url.Values{}
	set(v, "asset", q.Asset)
	set(v, "state", q.State)
	set(v, "cursor", q.Cursor)
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	var a TicketList
	err := c.call(ctx, http.MethodGet, "/v1/tickets?"+v.Encode(), nil, &a)
	return a, err
}

// Outbox lists the intents in this host's outbox that are in a status, or have a channel in it; if status is empty, those that
// are not closed or wait for a person.
func (c *Client) Outbox(ctx context.Context, status string) (IntentList, error) {
	v := url.Values{}
	set(v, "status", status)
	var a IntentList
	err := c.call(ctx, http.MethodGet, "/v1/outbox?"+v.Encode(), nil, &a)
	return a, err
}

// OutboxTicket reads a ticket's intents in this host's outbox, the closed ones too.
func (c *Client) OutboxTicket(ctx context.Context, asset, task string) (IntentList, error) {
	var a IntentList
	err := c.call(ctx, http.MethodGet, ticketPath("outbox", asset, task), nil, &a)
	return a, err
}

// Status reads what the daemon is and does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var a Status
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, &a)
	return a, err
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
