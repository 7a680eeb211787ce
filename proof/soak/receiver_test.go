// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package soak

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// receiver is what the channels lead to. It ends now and then, and refuses every twentieth request.
type receiver struct {
	addr   string
	server *http.Server
	asked  atomic.Int64
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{addr: "127.0.0.1:0"}
	if err := r.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
	return r
}

// listen begins, at the same address as before.
func (r *receiver) listen() error {
	listener, err := net.Listen("tcp", r.addr)
	if err != nil {
		return err
	}
	r.addr = listener.Addr().String()
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		if r.asked.Add(1)%20 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go r.server.Serve(listener) //nolint:errcheck // it ends when it is closed
	return nil
}

// restart ends all connections, and comes back a second later.
func (r *receiver) restart() error {
	_ = r.server.Close()
	time.Sleep(time.Second)
	return r.listen()
}

// count is how many requests came.
func (r *receiver) count() int64 { return r.asked.Load() }

// startPages starts picket ui on the first daemon, and returns what looks at one page after the other.
func (w *work) startPages(t *testing.T) (look func(n int) error, err error) {
	t.Helper()
	d := w.daemons[0]
	w.pages = exec.Command(d.picket, "ui", "--socket", d.socket)
	w.pages.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := w.pages.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.pages.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = w.pages.Process.Kill()
		_ = w.pages.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("cannot read the address of the pages: %w", err)
	}
	first, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		return nil, fmt.Errorf("cannot read the address of the pages: %w", err)
	}
	jar, _ := cookiejar.New(nil) // which cannot fail
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	t.Cleanup(browser.CloseIdleConnections)
	get := func(address string) error {
		resp, err := browser.Get(address)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the page says %s", resp.Status)
		}
		return nil
	}
	if err := get(first.String()); err != nil {
		return nil, err
	}
	pages := []string{"/", "/waiting", "/tasks", "/tickets", "/reports", "/claims", "/style.css"}
	return func(n int) error { return get("http://" + first.Host + pages[n%len(pages)]) }, nil
}
