// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestEveryMutatingScriptCanBeRunTwice(t *testing.T) { everywhere(t, everythingTwice) }

// script is a script by its name.
func script(name string) *redis.Script { return store.Scripts()[name] }

// twice sends every script twice, as a client does that lost the first reply, and answers the second.
type twice struct{ ours map[string]bool }

func newTwice() twice {
	t := twice{map[string]bool{}}
	for _, s := range store.Scripts() {
		t.ours[s.Hash()] = true
	}
	return t
}

func (w twice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if hash, _ := args[min(1, len(args)-1)].(string); args[0] == "evalsha" && w.ours[hash] {
			first := redis.NewCmd(ctx, args...)
			first.SetFirstKeyPos(3)
			_ = next(ctx, first)
		}
		return next(ctx, cmd)
	}
}

// everythingTwice goes the whole way, once with each script sent once and once with each sent twice: the same answers, the same
// ticket, the same history.
func everythingTwice(t *testing.T, s *shared) {
	var histories [2][]string
	for i, name := range []string{"once", "twice"} {
		f := s.fleet(t)
		if name == "twice" {
			f.client = s.apart(t)
			f.client.AddHook(newTwice())
		}
		e := f.frozen("host-a")
		c, _ := claimed(t, e, "same", "t")
		if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "timeout"}); err != nil {
			t.Fatal(err)
		}
		if r, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "timeout"}); err != nil || r.Ticket.Failure.Count != 2 {
			t.Errorf("%s: got %+v, %v", name, r.Ticket.Failure, err)
		}
		advance(t, e, c, store.HighRiskFound)
		if err := e.Release(t.Context(), c.ID, agent); err != nil {
			t.Fatal(err)
		}
		c, _ = claimed(t, e, "same", "t")
		r, err := e.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "low"})
		if err != nil || r.Replayed {
			t.Fatalf("%s: got %+v, %v", name, r, err)
		}
		if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
			t.Fatal(err)
		}
		deliver(t, e, c.Ticket, "ops", outbox.Pending, outbox.Go)
		deliver(t, e, c.Ticket, "ops", outbox.Sent, outbox.Go)
		ticket, err := e.Ticket(t.Context(), c.Ticket)
		if err != nil || ticket.State != store.Finished || ticket.Delivery["ops"].Attempts != 2 {
			t.Errorf("%s: ended with %+v, %v", name, ticket, err)
		}
		if ticket, err := e.Reopen(t.Context(), c.Ticket, "1/0", "again"); err != nil || ticket.Run != 2 {
			t.Errorf("%s: reopened: run %d, %v", name, ticket.Run, err)
		}
		claimed(t, e, "same", "t")
		if err := e.Break(t.Context(), "same", "1/0", "it hangs"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c, _ = claimed(t, e, "same", "t")
		notified(t, e, c, "ops", "pager")
		deliver(t, e, c.Ticket, "ops", outbox.Dead, outbox.Go)
		all := delivery.Resolution{Ticket: c.Ticket, By: "1/0", Reason: "by hand"}
		if _, err := e.Retry(t.Context(), all); err != nil {
			t.Errorf("%s: retried: %v", name, err)
		}
		if ticket, err := e.Discard(t.Context(), all); err != nil || ticket.State != store.Failed {
			t.Errorf("%s: discarded: %s, %v", name, ticket.State, err)
		}
		histories[i], _ = events(t, e, c.Ticket)
	}
	if !slices.Equal(histories[0], histories[1]) {
		t.Errorf("once:  %v\ntwice: %v", histories[0], histories[1])
	}
}

// TestLostReplies: the same through a network that loses replies after the command was executed.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	told := &auditLog{}
	e := (&fleet{t, c, "picket"}).host("host-a", func(c *Config) { c.Audit = told.add })
	lose := func(name string) {
		s := script(name)
		if err := s.Load(t.Context(), c).Err(); err != nil {
			t.Fatal(err)
		}
		proxy.LoseNextReply(s.Hash())
	}
	lose("mint")
	k, _ := claimed(t, e, "lossy", "t")
	lose("step")
	r, err := step(t, e, k, "online", store.AssetOffline, "")
	if err != nil || !r.Replayed {
		t.Errorf("got %+v, %v, want a replay", r, err)
	}
	lose("finish")
	if ticket, err := e.Finish(t.Context(), k.ID, agent, ""); err != nil || ticket.State != store.Finished {
		t.Errorf("got %+v, %v", ticket, err)
	}
	names, _ := events(t, e, k.Ticket)
	if want := []string{"claimed", "step", "finished"}; !slices.Equal(names, want) {
		t.Errorf("events are %v, want %v", names, want)
	}
	want := []string{"claimed  INIT", "step INIT ASSET_OFFLINE", "finished ASSET_OFFLINE FINISHED"}
	if got := told.moves(); !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}

// TestLostReplyOfLock: the lock that was taken without the reply is not left for its TTL.
func TestLostReplyOfLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.Proxy(t, server.Addr())
	c := client(proxy.Addr())
	t.Cleanup(func() { _ = c.Close() })
	f := &fleet{t, c, "picket"}
	e := f.host("host-a", func(c *Config) { c.TTL = time.Minute })
	proxy.LoseNextReply("picket:{lock}:lock", "nx")
	k, _ := claimed(t, e, "lock", "t")
	if err := e.Release(t.Context(), k.ID, agent); err != nil {
		t.Fatal(err)
	}
	if e.config.Redis.Exists(t.Context(), e.store.Keys.Lock("lock")).Val() != 0 {
		t.Error("a lock is left")
	}
}
