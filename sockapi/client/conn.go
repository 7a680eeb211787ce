// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"
)

// How a daemon that is stopping is followed: for followFor at most, with followPause between calls that its Retry-After does
// not space out.
const (
	followFor   = 10 * time.Second
	followPause = 20 * time.Millisecond
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

func (e unreachable) Error() string { return ErrUnreachable.Error() + ": " + e.cause.Error() }

func (e unreachable) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// CloseIdleConnections closes the connections that no call is using.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }
