// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

// trouble is an error that Redis answers with, for as long as it lasts.
type trouble struct {
	kinds []string // that it can be brought about on; the first is run by make test. None: all
	args  []string
	begin func(t *testing.T, r *redis.Client) // on each master
	end   func(t *testing.T, r *redis.Client)
	slot  func(t *testing.T, c *redistest.Cluster, begin bool) // begins and ends it, instead
	says  string                                               // a call that outlasts its time, or is not tried again
	once  bool                                                 // a call is answered at once: the trouble does not pass by itself
}

// on brings it about, and to an end, on a Redis of a test's own.
func (c trouble) on(t *testing.T, o *own) (begin, end func()) {
	if c.slot != nil {
		return func() { c.slot(t, o.cluster, true) }, func() { c.slot(t, o.cluster, false) }
	}
	each := func(do func(*testing.T, *redis.Client)) func() {
		return func() {
			for _, master := range o.masters {
				do(t, master.Client())
			}
		}
	}
	return each(c.begin), each(c.end)
}

// troubles are those errors that come to every call. What a slot that moves answers is in resharding_test.go.
var troubles = map[string]trouble{
	"READONLY": {
		kinds: []string{"standalone", "sentinel"}, // nobody can make a Cluster's node the replica of nobody
		begin: func(t *testing.T, r *redis.Client) { set(t, r, "replicaof", "127.0.0.1", "1") },
		end:   func(t *testing.T, r *redis.Client) { set(t, r, "replicaof", "no", "one") },
		says:  "READONLY",
	},
	"MASTERDOWN": {
		kinds: []string{"standalone", "sentinel"},
		args:  []string{"--replica-serve-stale-data", "no"},
		begin: func(t *testing.T, r *redis.Client) { set(t, r, "replicaof", "127.0.0.1", "1") },
		end:   func(t *testing.T, r *redis.Client) { set(t, r, "replicaof", "no", "one") },
		says:  "MASTERDOWN",
	},
	"LOADING": {
		args: []string{"--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"},
		begin: func(t *testing.T, r *redis.Client) {
			for i, filled := 0, 0; filled < 1000; i++ { // a Cluster's node takes only what is its own
				if r.SetRange(t.Context(), fmt.Sprint("filler:", i), 1<<12, "x").Err() == nil {
					filled++
				}
			}
			set(t, r, "config", "set", "key-load-delay", 10_000) // µs
			go r.Do(t.Context(), "debug", "reload")
			eventually(t, "it loads", func() bool { return redis.HasErrorPrefix(r.Ping(t.Context()).Err(), "LOADING") })
		},
		end: func(t *testing.T, r *redis.Client) {
			set(t, r, "config", "set", "key-load-delay", 0)
			eventually(t, "it has loaded", func() bool { return !redis.HasErrorPrefix(r.Ping(t.Context()).Err(), "LOADING") })
		},
		says: "LOADING",
	},
	"BUSY": {
		args: []string{"--busy-reply-threshold", "100"},
		begin: func(t *testing.T, r *redis.Client) {
			go r.Eval(t.Context(), "while true do end", nil)
			eventually(t, "it is busy", func() bool { return redis.HasErrorPrefix(r.Ping(t.Context()).Err(), "BUSY") })
		},
		end:  func(t *testing.T, r *redis.Client) { set(t, r, "script", "kill") },
		says: "BUSY",
	},
	"NOREPLICAS": {
		begin: func(t *testing.T, r *redis.Client) {
			set(t, r, "config", "set", "min-replicas-to-write", 2)
		},
		end:  func(t *testing.T, r *redis.Client) { set(t, r, "config", "set", "min-replicas-to-write", 0) },
		says: "NOREPLICAS",
	},
	"CLUSTERDOWN": {kinds: []string{"cluster"}, slot: slotUnserved, says: "CLUSTERDOWN"},
	"OOM": {
		begin: func(t *testing.T, r *redis.Client) { set(t, r, "config", "set", "maxmemory", 1) },
		end:   func(t *testing.T, r *redis.Client) { set(t, r, "config", "set", "maxmemory", 0) },
		says:  "maxmemory", once: true,
	},
	"MISCONF": {
		args: []string{"--save", "3600 1", "--dbfilename", "taken"},
		begin: func(t *testing.T, r *redis.Client) {
			dir := r.ConfigGet(t.Context(), "dir").Val()["dir"]
			if err := os.MkdirAll(filepath.Join(dir, "taken", "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			set(t, r, "config", "set", "stop-writes-on-bgsave-error", "yes")
			_ = r.BgSave(t.Context()).Err()
			eventually(t, "a save has failed", func() bool {
				return strings.Contains(r.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
			})
		},
		end:  func(t *testing.T, r *redis.Client) { set(t, r, "config", "set", "stop-writes-on-bgsave-error", "no") },
		says: "MISCONF", once: true,
	},
}

// slotUnserved has no node serve one slot, and so none serve anything.
func slotUnserved(t *testing.T, c *redistest.Cluster, begin bool) {
	const slot = 0 // the first master's
	owner := c.Servers[0].Client().ClusterMyID(t.Context()).Val()
	if begin {
		for _, s := range slices.Concat(c.Servers, c.Replicas) {
			_ = s.Client().ClusterDelSlots(t.Context(), slot).Err() // some have heard of it before
		}
	} else {
		for _, s := range c.Servers { // each is told, for they would tell each other too slowly
			set(t, s.Client(), "cluster", "setslot", slot, "node", owner)
		}
	}
	want := map[bool]string{true: "cluster_state:fail", false: "cluster_state:ok"}[begin]
	for _, s := range c.Servers {
		r := s.Client()
		eventually(t, want, func() bool { return strings.Contains(r.ClusterInfo(t.Context()).Val(), want) })
	}
}

func set(t *testing.T, r *redis.Client, command ...any) {
	t.Helper()
	if err := r.Do(t.Context(), command...).Err(); err != nil {
		t.Errorf("%v: %v", command, err)
	}
}

// calls are those in whose middle a trouble can come, each on a ticket of its own, twice.
func calls(t *testing.T, e *Engine, n string) (all map[string]func() error, held []*Claim) {
	t.Helper()
	stepped, _ := claimed(t, e, "stepped"+n, "t")
	telling, _ := claimed(t, e, "telling"+n, "t")
	advance(t, e, telling, store.HighRiskFound)
	told, _ := claimed(t, e, "told"+n, "t")
	intent := notified(t, e, told, "ops")
	sent, _ := claimed(t, e, "sent"+n, "t")
	sentIntent := notified(t, e, sent, "ops")
	verdict(t, e, attempt(e, sent.Ticket, sentIntent, "ops", 1), outbox.Go)
	return map[string]func() error{
		"claim": func() error { _, err := e.Claim(t.Context(), ask("new"+n, "t")); return err },
		"step":  func() error { _, err := step(t, e, stepped, "online", store.AssetOnline, `{"a":1}`); return err },
		"notify": func() error {
			_, err := e.Notify(t.Context(), telling.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err
		},
		"attempt": func() error { _, err := e.Attempt(t.Context(), attempt(e, told.Ticket, intent, "ops", 1)); return err },
		"outcome": func() error {
			_, err := e.Outcome(t.Context(), outcome(sent.Ticket, sentIntent, "ops", 1, outbox.Sent))
			return err
		},
		"renewal": func() error { return nil }, // by the watchdog: the claims live on
	}, []*Claim{stepped, telling, told, sent}
}

func TestF16_F31_EachErrorOfRedis(t *testing.T) {
	for name, c := range troubles {
		kinds := c.kinds
		if kinds == nil {
			kinds = redistest.Kinds
		}
		t.Run(name, func(t *testing.T) { onOwn(t, kinds, c.inTheMiddle, c.args...) })
	}
}

// inTheMiddle: while it lasts, each call ends in time and says what it is; what was begun is done once when it is over; what passes within a
// call's time is not seen; no claim is lost.
func (c trouble) inTheMiddle(t *testing.T, f *fleet, o *own) {
	begin, end := c.on(t, o)
	limit := callTime
	if c.once { // less than a call tries again
		limit = 3 * time.Second
	}
	e := f.host("host-a", func(c *Config) { c.TTL = time.Minute })
	each := func(all map[string]func() error, check func(what string, err error)) {
		var pending sync.WaitGroup
		for what, call := range all {
			pending.Go(func() { check(what, within(t, limit, what, call)) })
		}
		pending.Wait()
	}
	lasting, held := calls(t, e, "")
	begin()
	each(lasting, func(what string, err error) {
		if what == "renewal" {
			return
		}
		wantErr(t, err, store.ErrUnavailable)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s says %v, want %s", what, err, c.says)
		}
	})
	end()
	each(lasting, func(what string, err error) {
		if err != nil {
			t.Errorf("%s, when it is over: %v", what, err)
		}
	})
	passing, more := calls(t, e, "-passing")
	begin()
	over := make(chan struct{})
	go func() {
		defer close(over)
		time.Sleep(time.Second)
		end()
	}()
	each(passing, func(what string, err error) {
		if err != nil && !c.once {
			t.Errorf("%s does not outlast what passes: %v", what, err)
		}
	})
	<-over
	for _, k := range append(held, more...) {
		if v, err := e.Heartbeat(t.Context(), k.ID, agent); err != nil || v.Status != Held {
			t.Errorf("the claim on %s is %+v, %v", k.Ticket, v, err)
		}
	}
	for _, k := range held {
		if names, refused := events(t, e, k.Ticket); len(refused) > 0 {
			t.Errorf("%s: %q, refused are %+v", k.Ticket, names, refused)
		}
	}
	if s := ticketOf(t, e, held[0].Ticket); s.Revision != 2 || s.State != store.AssetOnline {
		t.Errorf("the step was recorded otherwise than once: %+v", s)
	}
	if d := ticketOf(t, e, held[3].Ticket).Delivery["ops"]; d.Status != outbox.Sent || d.Attempts != 1 {
		t.Errorf("the outcome is %+v", d)
	}
}

// TestScriptsThatRedisForgetsAreSentAgain: SCRIPT FLUSH at any moment.
func TestScriptsThatRedisForgetsAreSentAgain(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	replica := redistest.StartReplica(t, server)
	_ = replica
	e := f.host("host-a", func(c *Config) { waitingFor(f.client, c) })
	r := server.Client()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_ = r.ScriptFlush(t.Context()).Err()
			}
		}
	}()
	for i := range 20 {
		n := string(rune('a' + i))
		k := granted(t, e, "flushed-"+n, "t")
		advance(t, e, k, store.HighRiskFound)
		eventually(t, "it is accepted", func() bool {
			_, err := e.Notify(t.Context(), k.ID, agent, delivery.Request{Title: "x", Severity: "low"})
			return err == nil
		})
		deliver(t, e, k.Ticket, "ops", outbox.Sent, outbox.Go)
		if _, err := e.Finish(t.Context(), k.ID, agent, ""); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-done
}
