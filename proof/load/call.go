// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/picketd/picket/proof/history"
)

// callTime is how long a caller waits for an answer, beyond the wait that the call itself asks for. It is longer than the daemon asks
// Redis.
const callTime = 7 * time.Second

// caller calls one host's daemon, and has the history know of each call. Its methods may be called at once.
type caller struct {
	log  *history.Log
	host string
	by   string
	http *http.Client
	made atomic.Int64
}

func newCaller(log *history.Log, by, host, socket string) *caller {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }
	return &caller{log: log.As(by), host: host, by: by, http: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 2}}}
}

// reply is an answer. A status of 0 is none: what became of the call is not known.
type reply struct {
	status int
	answer
}

// call sends one request, waits for its answer for callTime and wait, and writes both down. body is JSON, or nil.
func (c *caller) call(ctx context.Context, method, path string, body []byte, wait time.Duration) reply {
	ctx, cancel := context.WithTimeout(ctx, callTime+wait)
	defer cancel()
	id := fmt.Sprintf("%s %s %d-%d", c.by, c.host, os.Getpid(), c.made.Add(1))
	c.log.Write(history.Record{Call: &history.Call{ID: id, Host: c.host, PID: os.Getpid(), Method: method, Path: path, Body: body}})
	got := &history.Answer{ID: id}
	status, answered, err := c.send(ctx, method, path, body)
	switch {
	case err != nil:
		got.Error = err.Error()
	case len(answered) > 0 && !json.Valid(answered):
		got.Status, got.Error = status, string(answered)
	default:
		got.Status, got.Body = status, answered
	}
	c.log.Write(history.Record{Answer: got})
	r := reply{status: got.Status}
	if got.Body != nil {
		_ = json.Unmarshal(got.Body, &r.answer) // an answer in another form than the API's is the checker's to find
	}
	return r
}

func (c *caller) send(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://picket"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answered, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answered, err
}
