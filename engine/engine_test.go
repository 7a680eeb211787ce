// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func init() { redis.SetLogger(silence{}) }

// silence is for a client that tells of each failed call by itself.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// shared is a Redis that tests share; each has keys of its own.
type shared struct {
	Client redis.UniversalClient
	tests  atomic.Int64
}

// kinds are the Redis that all of the contract holds on, each started when it is first needed.
var kinds = map[string]func() *shared{"standalone": ofKind("standalone"), "sentinel": ofKind("sentinel"), "cluster": ofKind("cluster")}

// ofKind logs in as the user of packaging/redis.acl: that this is enough, all of the contract shows.
func ofKind(kind string) func() *shared {
	return sync.OnceValue(func() *shared {
		rules := append(redistest.Least(&lasting), "+client|kill", "+dump", "+lrem", "+pubsub", "+restore") // which tests need for themselves
		o := redistest.StartKind(&lasting, kind, rules...)
		o.Username, o.Password = redistest.LeastUser, redistest.LeastPassword
		return &shared{Client: connect(10*time.Second, o)}
	})
}

// everywhere runs a test of the contract on every kind of Redis that this round has.
func everywhere(t *testing.T, test func(*testing.T, *shared)) {
	t.Parallel()
	for _, kind := range redistest.Round(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kinds[kind]())
		})
	}
}

// lasting owns what lasts longer than a test.
var lasting owner

type owner struct {
	testing.TB
	mu  sync.Mutex
	end []func()
}

func (o *owner) Helper() {}

func (o *owner) Context() context.Context { return context.Background() }

func (o *owner) Cleanup(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = append(o.end, f)
}

func (o *owner) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (o *owner) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range slices.Backward(lasting.end) {
		f()
	}
	os.Exit(code)
}

// client connects as daemon does, but waits longer than any call: what stood still with the whole machine is answered all the same.
func client(addrs ...string) redis.UniversalClient { return clientFor(10*time.Second, addrs...) }

func clientFor(slow time.Duration, addrs ...string) redis.UniversalClient {
	return connect(slow, &redis.UniversalOptions{
		Addrs: addrs, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func connect(slow time.Duration, o *redis.UniversalOptions) redis.UniversalClient {
	o.Addrs = slices.Clone(o.Addrs) // each client of a Cluster appends to its own
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = slow, slow, slow
	c := redis.NewUniversalClient(o)
	if cluster, ok := c.(*redis.ClusterClient); ok {
		store.Follow(cluster)
	}
	return c
}

// fleet makes hosts that share a keyspace.
type fleet struct {
	t      *testing.T
	client redis.UniversalClient
	prefix string
}

func (s *shared) fleet(t *testing.T) *fleet {
	return &fleet{t, s.Client, fmt.Sprintf("picket:t%d", s.tests.Add(1))}
}

// apart is a client of the same Redis with connections of its own, closed with the test.
func (s *shared) apart(t *testing.T) (own redis.UniversalClient) {
	switch c := s.Client.(type) {
	case *redis.ClusterClient:
		o := *c.Options()
		o.Addrs = slices.Clone(o.Addrs)
		own = redis.NewClusterClient(&o)
	case *redis.Client:
		own = redis.NewClient(c.Options())
	}
	t.Cleanup(func() { _ = own.Close() })
	return own
}

// setup is a fleet on a standalone Redis of its own.
func setup(t *testing.T, args ...string) (*fleet, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t, args...)
	c := client(server.Addr())
	t.Cleanup(func() { _ = c.Close() })
	return &fleet{t, c, "picket"}, server
}

// A machine that runs tests stands still for seconds now and then, and no claim may be lost by that: these TTLs leave a renewal 5 s
// and more.
const (
	testTTL  = 30 * time.Second
	shortTTL = 12 * time.Second // for a test that waits for a renewal, or for the end of a TTL
	agent    = 1000             // the uid of all agents here
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

func short(c *Config) { c.TTL = shortTTL }

var channels = []delivery.Channel{
	{Name: "ops", Type: "webhook", MinSeverity: "info"},
	{Name: "pager", Type: "exec", MinSeverity: "critical", AtMostOnce: true},
}

// host is an engine with its outbox, started.
func (f *fleet) host(name string, change ...func(*Config)) *Engine {
	f.t.Helper()
	e := f.frozen(name, change...)
	e.Start()
	return e
}

// frozen is a host whose watchdog does not run.
func (f *fleet) frozen(name string, change ...func(*Config)) *Engine {
	f.t.Helper()
	box, err := outbox.Open(filepath.Join(f.t.TempDir(), "outbox.db"), outbox.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	c := Config{
		Redis: f.client, Outbox: box, Host: name, Prefix: f.prefix, TTL: testTTL, Channels: channels,
		Render: func(channel string, m delivery.Message) ([]byte, error) {
			return []byte(channel + ":" + m.Key + ":" + m.Title), nil
		},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registry: prometheus.NewRegistry(),
	}
	for _, do := range change {
		do(&c)
	}
	e, err := New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			f.t.Errorf("cannot stop %s: %v", name, err)
		}
		if err := box.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return e
}

// stopClock has a host live in the past: it believes in its claims, as a process that slept believes when it wakes.
func stopClock(e *Engine) {
	at := e.now()
	e.now = func() time.Duration { return at }
}

func ask(asset, task string) ClaimRequest {
	return ClaimRequest{Asset: store.Asset(asset), Task: task, Heartbeat: time.Hour, Peer: Peer{UID: agent, PID: 42}}
}

func claimed(t *testing.T, e *Engine, asset, task string) (*Claim, ClaimResult) {
	t.Helper()
	r, err := e.Claim(t.Context(), ask(asset, task))
	if err != nil {
		t.Fatalf("cannot claim: %v", err)
	}
	if r.Claim == nil {
		t.Fatalf("the ticket is terminal: %s", r.Ticket.State)
	}
	return r.Claim, r
}

func claimedIn(t *testing.T, e *Engine, flow *store.Flow, asset, task string) *Claim {
	t.Helper()
	request := ask(asset, task)
	request.Flow = flow.Name
	r, err := e.Claim(t.Context(), request)
	if err != nil || r.Claim == nil {
		t.Fatalf("cannot claim: %+v, %v", r, err)
	}
	return r.Claim
}

func step(t *testing.T, e *Engine, c *Claim, name string, state store.State, facts string) (WriteResult, error) {
	t.Helper()
	r := StepRequest{Step: name, State: state}
	if facts != "" {
		r.Facts = json.RawMessage(facts)
	}
	return e.Step(t.Context(), c.ID, c.UID, r)
}

// advance records steps until the ticket is in a state of the happy path.
func advance(t *testing.T, e *Engine, c *Claim, to store.State) {
	t.Helper()
	for _, s := range []struct {
		name  string
		state store.State
	}{{"online", store.AssetOnline}, {"vuln", store.VulnCheckDone}, {"assess", store.HighRiskFound}} {
		if _, err := step(t, e, c, s.name, s.state, ""); err != nil {
			t.Fatalf("cannot record %s: %v", s.name, err)
		}
		if s.state == to {
			return
		}
	}
}

func state(t *testing.T, e *Engine, id store.TicketID) store.State {
	t.Helper()
	ticket, err := e.Ticket(t.Context(), id)
	if err != nil {
		t.Fatalf("cannot read %s: %v", id, err)
	}
	return ticket.State
}

// events are the names of a ticket's history, whose numbers must have no gap.
func events(t *testing.T, e *Engine, id store.TicketID) (names []string, refused []store.Event) {
	t.Helper()
	list, refused, err := e.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range list {
		if ev.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i+1, ev.Seq)
		}
		names = append(names, ev.Event)
	}
	return names, refused
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

func wantLost(t *testing.T, err error, want Reason) {
	t.Helper()
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Fatalf("got error %v, want a lost claim", err)
	}
	if lost.Reason != want {
		t.Errorf("lost for %s, want %s", lost.Reason, want)
	}
}

// letGo ends a claim's lock as its expiry would.
func letGo(t *testing.T, e *Engine, a store.Asset) {
	t.Helper()
	if err := e.config.Redis.Del(t.Context(), e.store.Keys.Lock(a)).Err(); err != nil {
		t.Fatal(err)
	}
}
