// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"time"

	"github.com/picketd/picket/sockapi/client"
	"github.com/picketd/picket/ui"
)

const (
	pageLooks = 20
	pageMost  = 150 * time.Millisecond
	pagesTask = "pages"
)

// pages is P19: each page of picket ui over many tickets, and which one takes longest.
func (h *host) pages(ctx context.Context) []row {
	var f fleet
	f.grow(h, 1)
	defer f.stop()
	names := make([]string, h.pageTickets)
	for i := range names {
		names[i] = newAsset()
	}
	check(f.members[0].fill(ctx, pagesTask, names))

	ctx, cancel := context.WithCancel(ctx)
	listener := must(ui.Listen("127.0.0.1:0"))
	server := ui.New(ui.Config{Client: client.New(h.daemonSocket)})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		cancel()
		<-served
	}()
	browser := &http.Client{Jar: must(cookiejar.New(nil))}
	defer browser.CloseIdleConnections()
	check(look(browser, server.Address(listener.Addr())))

	slowest, longest := "", time.Duration(0)
	for _, page := range []string{
		"/", "/waiting", "/tasks", "/tickets", "/tickets?task=" + pagesTask, "/tickets?state=FAILED", "/claims", "/ticket?asset=" + names[0] + "&task=" + pagesTask,
	} {
		var took []time.Duration
		check(timed(&took, pageLooks, func() error { return look(browser, "http://"+listener.Addr().String()+page) }))
		if m := median(took); m > longest {
			slowest, longest = page, m
		}
	}
	status := client.New(h.daemonSocket)
	defer status.CloseIdleConnections()
	var trips []time.Duration
	check(timed(&trips, pageLooks, func() error {
		_, err := status.Status(ctx)
		return err
	}))
	trip := median(trips)
	return []row{{
		"P19", fmt.Sprintf("picket ui over %d tickets, the slowest page (%s); floor: one call of the status", h.pageTickets, slowest),
		milliseconds(longest), milliseconds(trip), times(longest.Seconds() / trip.Seconds()), "≤ 150 ms", longest <= pageMost,
	}}
}

// look gets a page as a browser does.
func look(browser *http.Client, address string) error {
	resp, err := browser.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("cannot look at %s: %s", resp.Request.URL.Path, resp.Status)
	}
	_, copied := io.Copy(io.Discard, resp.Body)
	return errors.Join(err, copied)
}
