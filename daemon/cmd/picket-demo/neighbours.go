// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// receiver is where notifications arrive: a webhook on loopback.
type receiver struct {
	url     string
	port    string
	arrived chan notification
	server  *http.Server
	served  chan struct{} // closes when the server has ended
}

type notification struct {
	key      string
	id       string
	title    string
	text     string
	severity string
}

func startReceiver() *receiver {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check("listen for notifications", err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	check("tell the receiver's port", err)
	r := &receiver{
		url: fmt.Sprintf("http://%s/hook", listener.Addr()), port: port,
		arrived: make(chan notification, 16), served: make(chan struct{}),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(listener) // until close
	}()
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Data struct{ ID, Title, Text, Severity string }
	}
	if err := json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(&body); err != nil {
		http.Error(w, "a notification is needed", http.StatusBadRequest)
		return
	}
	d := body.Data
	r.arrived <- notification{req.Header.Get("Idempotency-Key"), d.ID, d.Title, d.Text, d.Severity}
}

func (r *receiver) next(ctx context.Context) (n notification) {
	select {
	case n = <-r.arrived:
	case <-ctx.Done():
		check("", context.Cause(ctx))
	case <-time.After(startLimit):
		check("", fmt.Errorf("no notification arrived within %s", startLimit))
	}
	return n
}

func (r *receiver) close() {
	_ = r.server.Close()
	<-r.served
}

// The greetings of services: the second is of a version that had a backdoor in it.
const (
	sshGreeting = "SSH-2.0-OpenSSH_9.2p1\r\n"
	ftpGreeting = "220 (vsFTPd 2.3.4)\r\n"
)

// service is what runs on an asset: it greets whoever connects.
type service struct {
	addr     string
	listener net.Listener
	serving  sync.WaitGroup
}

func startService(addr, greeting string) *service {
	listener, err := net.Listen("tcp", addr)
	check("open a service", err)
	s := &service{addr: listener.Addr().String(), listener: listener}
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting) // who is gone needs no greeting
			_ = conn.Close()
		}
	})
	return s
}

func (s *service) close() {
	_ = s.listener.Close()
	s.serving.Wait()
}
