// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/picketd/picket/agent"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// between is a socket in front of a host's, on which a test changes what is answered to calls whose path ends so. The first is number 1.
func between(t *testing.T, h *host, path string, change func(number int64, answer *http.Response) error) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "picket-between-")
	if err != nil {
		t.Fatal(err)
	}
	front := &host{socket: filepath.Join(dir, "s")}
	listener, err := net.Listen("unix", front.socket)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "picket" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", h.socket)
		}},
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, path) {
				return nil
			}
			return change(calls.Add(1), r)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			write(w, client.Problem{Status: http.StatusServiceUnavailable, Code: client.StoreUnavailable, Detail: "no answer"})
		},
	}
	server := &http.Server{Handler: proxy}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		_ = os.RemoveAll(dir)
	})
	return front
}

// basis has an answer rest on something else.
func basis(r *http.Response, on string) error {
	var body client.ChunkResponse
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	body.Basis = on
	text, err := json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Del("Content-Length")
	return err
}

// TestARunThatCannotCheckWhatItSawIsNotDone: at its end, when Redis is away for its last look, or the list changes faster than it can be
// gone over. When nobody can tell, all is looked at once more.
func TestARunThatCannotCheckWhatItSawIsNotDone(t *testing.T) {
	t.Parallel()
	h := startHosts(t, "", "scan-01")[0]
	const unchecked = "but whether all of it still is could not be told at the end"
	for name, c := range map[string]struct {
		change func(look int64, r *http.Response) error
		code   int
		says   string
	}{
		"whole": {func(int64, *http.Response) error { return nil }, 0, "3 of 3 done, 0 at high risk, 0 failed, in "},
		"away": {func(look int64, _ *http.Response) error {
			if look > 2 { // the first, and the one for others
				return io.ErrUnexpectedEOF
			}
			return nil
		}, exitUnavailable, unchecked},
		"restless": {func(look int64, r *http.Response) error { return basis(r, fmt.Sprint(look)) }, exitTempFail, unchecked},
		"unknown":  {func(_ int64, r *http.Response) error { return basis(r, "") }, 0, "this Redis does not tell whether it lost data: the list is gone over again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScanners(t, saysOnline, `echo '{"findings": []}'`)
			list := filepath.Join(s.dir, "list")
			if err := os.WriteFile(list, []byte("web-01\nweb-02\nweb-03\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := s.start(t, between(t, h, "/chunks", c.change), "--assets", list, "--task", name, "--give-up", "2s")
			r.wait(t, c.code)
			if !strings.Contains(r.log.String(), c.says) {
				t.Errorf("it says %s, without %q", &r.log, c.says)
			}
		})
	}
}

// TestARunFailsWhatIsDamaged: clearly, and at once, in a list and by itself; task show does not count it as done.
func TestARunFailsWhatIsDamaged(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	h := startHostOn(t, redis, "", "scan-01")
	s, list, assets := addressList(t, 3)
	s.start(t, h, "--assets", list, "--task", "w48").wait(t, 0)
	if err := redis.Client().Del(t.Context(), "picket:{"+assets[1]+"}:log:w48").Err(); err != nil {
		t.Fatal(err)
	}
	const why = "Redis has lost some of what the ticket recorded"
	run := s.start(t, h, assets[1], "w48")
	run.wait(t, exitFailed)
	if got := run.results(t); len(got) != 1 || got[0].Outcome != agent.Failed || !strings.Contains(got[0].Error, why) {
		t.Errorf("it says %s", &run.out)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"ticket", "ls", "--task", "w48"}, 0, "damaged: Redis has lost what was recorded of online"},
		{[]string{"ticket", "show", assets[1], "w48"}, 0, "picket ticket reopen begins it anew"},
		{[]string{"ticket", "show", "--why", assets[1], "w48"}, 0, "The ticket is damaged: "},
		{[]string{"task", "show", "w48"}, exitFailed, "picket ticket ls --damaged --task w48"},
		{[]string{"ticket", "reopen", assets[1], "w48", "--reason", "Redis lost it"}, 0, ""},
		{[]string{"ticket", "show", "--json", assets[1], "w48"}, 0, `"run":2,`},
	} {
		out, code := h.picket(c.args...)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%q ends with %d and says\n%s", c.args, code, out)
		}
	}
	s.start(t, h, "--assets", list, "--task", "w48").wait(t, 0)
}
