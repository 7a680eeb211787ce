// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

// maxAnswer is how large an answer may be, in bytes.
const maxAnswer = 64 << 20

// call makes a call and decodes its answer into answer, if that is not nil.
func (c *Client) call(ctx context.Context, method, path string, request, answer any) error {
	return c.follow(ctx, func() error { return c.once(ctx, method, path, request, answer) })
}

// ask is call for an answer of a type.
func ask[A any](ctx context.Context, c *Client, method, path string, request any) (answer A, err error) {
	err = c.call(ctx, method, path, request, &answer)
	return answer, err
}

// follow makes a call again, on a new connection, as long as it is answered DRAINING or TOO_MANY_CALLS: that daemon has done
// nothing. Another takes its place, or it has time again.
func (c *Client) follow(ctx context.Context, call func() error) error {
	start := time.Now()
	for {
		err := call()
		var p *Problem
		if !errors.As(err, &p) || p.Code != Draining && p.Code != TooManyCalls || time.Since(start)+p.RetryAfter > followFor {
			return err
		}
		c.CloseIdleConnections()
		if err := pause(ctx, max(p.RetryAfter, followPause)); err != nil {
			return err
		}
	}
}

// followLost is follow for a call that is answered as before when it is sent again: from when its answer is lost, it is sent again for
// followFor, to whichever daemon then has the socket.
func (c *Client) followLost(ctx context.Context, call func() error) error {
	var since time.Time // of the loss
	for {
		err := c.follow(ctx, call)
		lost := errors.Is(err, errLost)
		if lost && since.IsZero() {
			since = time.Now()
		}
		if since.IsZero() || !lost && !errors.Is(err, ErrUnreachable) || time.Since(since) > followFor {
			return err
		}
		if err := pause(ctx, followPause); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// errLost says that the daemon was connected to, and the connection ended without an answer.
var errLost = errors.New("the answer was lost")

// lost is an error that is errLost, too.
type lost struct{ error }

func (l lost) Unwrap() []error { return []error{l.error, errLost} }

func (c *Client) once(ctx context.Context, method, path string, request, answer any) error {
	body, err := encode(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit := c.patience + waitOf(path, request); c.patience > 0 && !isChannelTest(request) {
		timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w within %s", ErrNoAnswer, limit)) })
		defer timer.Stop()
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://picket"+path, body)
	if err != nil {
		return fmt.Errorf("cannot make a request: %w", err)
	}
	if request != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// Not sent: it lets net/http repeat a call on a new connection when the old one, kept open from an earlier call, ends before
	// a byte of the answer. That is how a daemon that stops ends it, without having read the call. Should it have been read
	// after all, the repetition is answered as before: of a claim, by the request's name.
	req.Header["X-Idempotency-Key"] = nil
	resp, err := c.http.Do(req)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrNoAnswer) {
		return cause
	} else if err != nil {
		return losing(ctx, calling(err))
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer):
		return context.Cause(ctx)
	case err != nil:
		return losing(ctx, fmt.Errorf("cannot read the daemon's answer: %w", err))
	case len(got) > maxAnswer:
		return fmt.Errorf("cannot read the daemon's answer: it is larger than %d MiB", maxAnswer>>20)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return problemIn(resp, got)
	case answer == nil || len(got) == 0:
		return nil
	}
	if err := json.Unmarshal(got, answer); err != nil {
		return fmt.Errorf("cannot read the daemon's answer: %w", err)
	}
	return nil
}

// waitOf is how long the call asks the daemon to wait.
func waitOf(path string, request any) time.Duration {
	_, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query)
	text := values.Get("wait")
	if r, ok := request.(*ClaimRequest); ok {
		text = r.Wait
	}
	wait, _ := time.ParseDuration(text) // the daemon says what is wrong with it
	return max(wait, 0)
}

func isChannelTest(request any) bool {
	_, is := request.(ChannelTestRequest)
	return is
}

// losing marks why there was no answer as its loss, unless nothing was sent or the caller gave up.
func losing(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrUnreachable) {
		return err
	}
	return lost{err}
}

// calling says why a call got no answer, without the made-up URL.
func calling(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, ErrUnreachable) {
		return err
	}
	return fmt.Errorf("cannot call the daemon: %w", err)
}

// encode makes a request's body; without a request there is none. Characters that HTML knows stay as they are.
func encode(request any) (io.Reader, error) {
	if request == nil {
		return http.NoBody, nil
	}
	b, err := plain.JSON(request)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the request: %w", err)
	}
	return bytes.NewReader(b), nil
}

// problemIn reads an error answer. One that is no problem is not the daemon's; it becomes one.
func problemIn(resp *http.Response, body []byte) *Problem {
	var p Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		p = Problem{Title: http.StatusText(resp.StatusCode), Code: Internal, Detail: "the answer is " + resp.Status + ", not a problem of the daemon's"}
	}
	p.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return &p
}
