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
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// Engine is what the API needs of *engine.Engine.
type Engine interface {
	Claim(ctx context.Context, r engine.ClaimRequest) (engine.ClaimResult, error)
	Claims(uid uint32) []engine.Claim
	GetClaim(id string, uid uint32) (engine.Claim, error)
	WatchClaim(ctx context.Context, id string, uid uint32, wait time.Duration) (engine.Claim, error)
	Heartbeat(ctx context.Context, id string, uid uint32) (engine.Claim, error)
	Step(ctx context.Context, id string, uid uint32, r engine.StepRequest) (engine.WriteResult, error)
	Fail(ctx context.Context, id string, uid uint32, r engine.FailureRequest) (engine.WriteResult, error)
	Notify(ctx context.Context, id string, uid uint32, r engine.NotificationRequest) (engine.WriteResult, error)
	Finish(ctx context.Context, id string, uid uint32, summary string) (engine.Ticket, error)
	Release(ctx context.Context, id string, uid uint32) error
	Ticket(ctx context.Context, id engine.TicketID) (engine.Ticket, error)
	EachEvent(ctx context.Context, id engine.TicketID, each func(page []engine.Event) error) (refused []engine.Event, err error)
	Tickets(ctx context.Context, q engine.TicketQuery) (tickets []engine.Ticket, cursor string, err error)
	Break(ctx context.Context, a engine.Asset, by, reason string) error
	Force(ctx context.Context, id, by string) error
	Reopen(ctx context.Context, id engine.TicketID, by, reason string) (engine.Ticket, error)
	Retry(ctx context.Context, r engine.Resolution) (engine.Ticket, error)
	Discard(ctx context.Context, r engine.Resolution) (engine.Ticket, error)
	Settle(ctx context.Context, r engine.Resolution) (engine.Ticket, error)
}

// Outbox is what the API needs of *outbox.Store.
type Outbox interface {
	Find(origins []outbox.Origin, status outbox.Status, limit int) (all []outbox.Intent, more bool, err error)
	Ticket(ticket string) ([]outbox.Intent, error)
}

// Config is what New needs.
type Config struct {
	Engine   Engine
	Outbox   Outbox
	Status   func() client.Status
	Ready    func(context.Context) []client.Check
	Warnings func() []client.Warning // Defaults to none
	Metrics  http.Handler            // of /metrics

	// TestChannel sends a test message. Its error is engine.ErrUnknownChannel for a name that no channel has.
	TestChannel func(ctx context.Context, name, severity string) (client.ChannelTest, error)

	Audit          func(audit.Event) // is called for each write that was refused, and must not block. Defaults to nothing
	AdminGID       *uint32           // the group whose members are admins, beside root; nil: nobody else
	Version        string            // of the daemon, for the OpenAPI document
	MaxConns       int               // on the socket, at once; further ones are refused. Root and admins have as many beside. Defaults to 8,192
	MaxConnsPerUID int               // of these, one user's. Defaults to 2,048

	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Limits on what a connection may take, beside those of bodies in call.go.
const (
	maxHeader   = 16 << 10 // bytes
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	unusedGrace = 100 * time.Millisecond // for a new connection's first request to arrive while stopping
	slowGrace   = 250 * time.Millisecond // for the rest of a request, and for an answer to be read, while stopping
)

// Server answers calls on sockets.
type Server struct {
	engine      Engine
	outbox      Outbox
	status      func() client.Status
	ready       func(context.Context) []client.Check
	warnings    func() []client.Warning // or nil
	testChannel func(ctx context.Context, name, severity string) (client.ChannelTest, error)
	audit       func(audit.Event)
	adminGID    *uint32
	metricsPage http.Handler
	document    http.Handler
	log         *slog.Logger
	metrics     *metrics
	router      router
	http        *http.Server
	limits      *limits
	budgets     *budgets

	serving context.Context // done when nothing more is accepted, and long polls must end
	drain   context.CancelFunc
	conns   sync.Map // net.Conn, all
	unused  sync.Map // net.Conn, those that have sent nothing yet
}

// New wires and starts nothing.
func New(c Config) (*Server, error) {
	if c.MaxConns == 0 {
		c.MaxConns = 8192
	}
	if c.MaxConnsPerUID == 0 {
		c.MaxConnsPerUID = 2048
	}
	if c.Audit == nil {
		c.Audit = func(audit.Event) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	doc, err := openAPI(routes, c.Version)
	if err != nil {
		return nil, fmt.Errorf("cannot make the OpenAPI document: %w", err)
	}
	m, err := newMetrics(c.Registry)
	if err != nil {
		return nil, fmt.Errorf("cannot register the API's metrics: %w", err)
	}
	s := &Server{
		engine:      c.Engine,
		outbox:      c.Outbox,
		status:      c.Status,
		ready:       c.Ready,
		warnings:    c.Warnings,
		testChannel: c.TestChannel,
		audit:       c.Audit,
		adminGID:    c.AdminGID,
		metricsPage: c.Metrics,
		document:    doc,
		log:         c.Logger,
		metrics:     m,
		router:      newRouter(routes),
		limits:      newLimits(c.MaxConns, c.MaxConnsPerUID),
	}
	s.limits.trusted = s.isAdmin
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
	l := newListener(ln, s.limits, s.log)
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
	for over := false; !s.limits.empty(); {
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

// untilDrained makes a context for a call that only waits: when the server drains it ends, with ErrDraining as its cause.
func (s *Server) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(s.serving, func() { cancel(engine.ErrDraining) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// ServeHTTP finds a request's route, runs it, and writes what comes of it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	peer, _ := r.Context().Value(peerKey{}).(engine.Peer)
	c := &call{serving: s.serving, request: r, control: http.NewResponseController(w), peer: peer}
	if c.conn, _ = r.Context().Value(connKey{}).(*conn); c.conn != nil {
		defer c.conn.end()
	}
	c.awaitBody(start)
	route, params, err := s.router.find(r, w.Header())
	name := "none"
	c.params = params
	var caller *audit.Caller
	if route != nil && route.writes() {
		caller = audit.NewCaller(c.by(), route.id)
		c.request = r.WithContext(caller.Context(r.Context()))
	}
	var a answer
	if err == nil {
		name = route.path
		a, err = s.run(route, c)
	}
	if c.conn != nil {
		c.conn.dropBody()
	}
	c.leaveBody(w)
	code, streamed := statusLeft, false
	if err == nil && a.stream != nil {
		streamed, err = s.stream(w, a)
	}
	switch {
	case streamed && err == nil:
		code = a.status
	case streamed: // it ends without an end, which no client takes for one
		s.metrics.observe(name, r.Method, code, time.Since(start))
		panic(http.ErrAbortHandler)
	case err == nil:
		code = s.write(w, r, a)
	case !left(r.Context(), err):
		p := s.problem(r, name, err)
		if caller != nil && !caller.Recorded() {
			s.refused(c, route, p)
		}
		code = s.writeProblem(w, p)
	}
	s.metrics.observe(name, r.Method, code, time.Since(start))
}

// statusLeft stands in the metrics for a call whose caller left before there was an answer. Nothing is sent.
const statusLeft = 499

// run runs a handler. One that panics fails for its caller alone.
func (s *Server) run(route *route, c *call) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a handler panicked", "route", route.path, "panic", p, "stack", string(debug.Stack()))
			err = problem(client.Internal, "the daemon failed at this; its log says why")
		}
	}()
	if route.access == admin && !s.isAdmin(c.peer) {
		return answer{}, errNotAdmin
	}
	c.free = route.free
	return route.run(s, c)
}

// problem is what a call is answered with that failed.
func (s *Server) problem(r *http.Request, route string, err error) *client.Problem {
	in := "body"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		in = "query"
	}
	p := problemOf(err, in)
	if p.Code == client.Internal {
		s.log.Error("cannot answer a call", "route", route, "method", r.Method, "error", err)
	}
	return p
}
