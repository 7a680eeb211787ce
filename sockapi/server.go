// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits on what a connection may take, beside those of bodies in call.go.
const (
	maxHeader   = 16 << 10 // bytes
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	unusedGrace = 100 * time.Millisecond // for a new connection's first request to arrive while stopping
)

// Server answers calls on sockets.
type Server struct {
	config  Config
	writer  writer
	metrics *metrics
	router  router
	http    *http.Server
	limits  *limits
	budgets *budgets

	serving context.Context // done when nothing more is accepted, and long polls must end
	drain   context.CancelFunc
	conns   sync.Map // net.Conn, all
	unused  sync.Map // net.Conn, those that have sent nothing yet
}

// New wires and starts nothing.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	var err error
	if c.document, err = openAPI(routes, c.Version); err != nil {
		return nil, fmt.Errorf("cannot make the OpenAPI document: %w", err)
	}
	m := newMetrics(c.Registry)
	s := &Server{
		config: c, writer: writer{c.Logger, m}, metrics: m, router: newRouter(routes), limits: newLimits(c.MaxConns, c.MaxConnsPerUID),
	}
	s.limits.trusted = s.config.isAdmin
	s.serving, s.drain = context.WithCancel(context.Background())
	s.budgets = newBudgets(s.serving.Done())
	s.http = &http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               maxHeader - 4096, // net/http adds 4096
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  idleTime,
		ErrorLog:                     slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn),
		ConnState:                    s.connState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(context.WithValue(ctx, peerKey{}, c.(*conn).peer), connKey{}, c)
		},
	}
	return s, nil
}

// Serve answers calls on a Unix listener until Drain or Shutdown, then returns nil. It closes the listener. It may be called for
// several.
func (s *Server) Serve(ln net.Listener) error {
	l := newListener(ln, s.limits, s.config.Logger)
	l.budgets = s.budgets
	stop := context.AfterFunc(s.serving, func() { _ = l.Close() })
	defer stop()
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) || s.serving.Err() != nil && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Drain accepts no connection any more, ends long polls with DRAINING, and closes each connection after the answer that is on its
// way, or if it is slow to send its request or to read its answer. It is idempotent.
func (s *Server) Drain() {
	s.drain()
	s.http.SetKeepAlivesEnabled(false)
	s.conns.Range(func(c, _ any) bool {
		c.(*conn).hurry()
		return true
	})
}

// Shutdown drains and waits for the calls on their way, at most until ctx is done: then they are cut off, and it returns the
// context's error. It is idempotent and needs no Serve.
//
// net/http's own Shutdown comes last, for it drops what is read after it was called. Until then every connection that was
// accepted gets an answer to what it asks; each is counted, from before it is accepted until it is closed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	grace, look := time.After(unusedGrace), time.NewTicker(time.Millisecond)
	defer look.Stop()
	for over := false; s.limits.open.Load() > 0; {
		select {
		case <-grace:
			over = true
		case <-look.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), s.http.Close())
		}
		if over {
			s.closeUnused()
		}
	}
	return s.http.Shutdown(ctx)
}

// connState keeps the connections, and which of them have sent nothing yet, so that they do not hold up Shutdown.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Store(c, nil)
		s.unused.Store(c, nil)
		if s.serving.Err() != nil { // accepted before the drain, which may not have seen it
			c.(*conn).hurry()
		}
	case http.StateClosed:
		s.conns.Delete(c)
		s.unused.Delete(c)
	default:
		s.unused.Delete(c)
	}
}

func (s *Server) closeUnused() {
	s.unused.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}
