// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// The limits of a connection.
const (
	maxHeader   = 16 << 10 // bytes
	maxBody     = 16 << 10 // bytes
	maxConns    = 64
	readTime    = 10 * time.Second // for a request to arrive
	writeTime   = time.Minute      // for its answer to be made and sent
	idleTime    = 2 * time.Minute  // between two requests; the page asks again sooner
	closingTime = 2 * time.Second  // for what is being answered when the server stops
)

// Server serves the pages.
type Server struct {
	guard
	book   book
	arrive time.Duration // how long a request may take to arrive
}

// New makes a server. It starts nothing.
func New(c Config) *Server {
	g := newGuard()
	return &Server{guard: g, book: newBook(c, g.token), arrive: readTime}
}

// Listen listens on HOST:PORT, where HOST must be of loopback. Port 0 is any that is free.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address: HOST:PORT such as 127.0.0.1:8080 is needed", address)
	}
	if !isLoopback(host) {
		return nil, fmt.Errorf("%s is not on loopback, and the pages go over the network to nobody: listen on 127.0.0.1:%s, and from elsewhere use "+
			"ssh -L %[2]s:127.0.0.1:%[2]s", address, port)
	}
	if host == "localhost" {
		host = "127.0.0.1" // whatever a resolver says
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// Address is where the pages are, with the secret that lets a browser in.
func (s *Server) Address(listens net.Addr) string {
	return "http://" + listens.String() + "/?" + url.Values{secretName: {s.secret}}.Encode()
}

// Serve serves until ctx is done, and then closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	var open atomic.Int64
	server := &http.Server{
		Handler:           s.guarded(s.book.handler()),
		ReadHeaderTimeout: s.arrive, ReadTimeout: s.arrive, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader - 4096,                                                         // to which net/http adds as much
		ErrorLog:       slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError), // what browsers break off is no news
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if open.Add(1) > maxConns {
					_ = conn.Close()
				}
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
			}
		},
	}
	stopped := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(listener)
	if !forget() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
