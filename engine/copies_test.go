// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
)

func TestACopyOfAScriptThatComesLateChangesNothing(t *testing.T) { everywhere(t, lateCopies) }

func TestACopyOfAQuestionThatComesLateTakesNoAttempt(t *testing.T) { everywhere(t, lateQuestion) }

// held are the scripts that were sent, so that the network can bring each once more, at any later time.
type held struct {
	names map[string]string // of the scripts, by hash
	mu    sync.Mutex
	sent  [][]any // in order
}

func (w *held) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *held) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *held) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if hash, _ := args[min(1, len(args)-1)].(string); args[0] == "evalsha" && w.names[hash] != "" {
			w.mu.Lock()
			w.sent = append(w.sent, slices.Clone(args))
			w.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

func (w *held) name(i int) string { return w.names[w.sent[i][1].(string)] }

// watched is a fleet whose clients keep copies of these scripts.
func (s *shared) watched(t *testing.T, scripts ...string) (*fleet, *held) {
	f, w := s.fleet(t), &held{names: map[string]string{}}
	for _, name := range scripts {
		w.names[script(name).Hash()] = name
	}
	f.client = s.apart(t)
	f.client.AddHook(w)
	return f, w
}

// again brings copy i, around the hook.
func (w *held) again(t *testing.T, c redis.UniversalClient, i int) {
	t.Helper()
	cmd := redis.NewCmd(t.Context(), w.sent[i]...)
	cmd.SetFirstKeyPos(3)
	_ = c.Process(t.Context(), cmd)
	if cmd.Err() != nil {
		t.Fatalf("a copy of %s: %v", w.name(i), cmd.Err())
	}
}

// recorded is all that scripts write about an asset, but for the list of refused writes, and the lease of an attempt that is under
// way, which a copy of its question begins anew.
func recorded(t *testing.T, e *Engine, a store.Asset, tasks ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	p := e.config.Redis.Pipeline()
	hashes := map[string]*redis.MapStringStringCmd{"grant": p.HGetAll(t.Context(), e.store.Keys.Grant(a))}
	logs := map[string]*redis.IntCmd{}
	for _, task := range tasks {
		hashes[task] = p.HGetAll(t.Context(), e.store.Keys.Ticket(store.ID(a, task)))
		logs[task] = p.LLen(t.Context(), e.store.Keys.Log(store.ID(a, task)))
	}
	lock := p.Get(t.Context(), e.store.Keys.Lock(a))
	_, _ = p.Exec(t.Context())
	for name, h := range hashes {
		for field, v := range h.Val() {
			all[name+" "+field] = v
		}
	}
	for task, n := range logs {
		all[task+" log"] = fmt.Sprint(n.Val())
	}
	all["lock"] = lock.Val()
	maps.DeleteFunc(all, func(k, _ string) bool { return strings.Contains(k, " lease.") || strings.Contains(k, " at.") })
	return all
}

// lateCopies goes the whole way twice, with two hosts, and after every write brings a copy of every one before it, its own included.
// At the end each kind of script has come after each.
func lateCopies(t *testing.T, s *shared) {
	scripts := []string{
		"mint", "step", "failure", "finish", "release", "notify", "attempt", "outcome", "resolve", "retry", "break", "reopen", "own", "idle",
	}
	f, w := s.watched(t, scripts...)
	plain := s.Client
	ttl := func(c *Config) { c.TTL = time.Minute }
	a, b := f.frozen("host-a", ttl), f.frozen("host-b", ttl)
	const asset, task, other = "copied", "t", "u"
	id := store.ID(asset, task)
	pairs := map[string]bool{}
	seen := 0
	do := func(what string, write func() error) {
		t.Helper()
		if err := write(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(w.sent) == seen {
			t.Fatalf("%s: nothing was sent", what)
		}
		seen = len(w.sent)
		before := recorded(t, a, asset, task, other)
		for i := range seen {
			w.again(t, plain, i)
			pairs[w.name(i)+" after "+w.name(seen-1)] = true
			if after := recorded(t, a, asset, task, other); !maps.Equal(before, after) {
				for k := range after {
					if before[k] != after[k] {
						t.Errorf("a copy of %s (%d) after %s (%d): %s was %q and is %q", w.name(i), i, what, seen, k, before[k], after[k])
					}
				}
				t.FailNow()
			}
		}
	}
	var c *Claim
	claim := func(task string) {
		do("claim", func() error {
			got, err := a.Claim(t.Context(), ask(asset, task))
			c = got.Claim
			return err
		})
	}
	record := func(step string, to store.State) {
		do(step, func() error {
			_, err := a.Step(t.Context(), c.ID, agent, StepRequest{Step: step, State: to})
			return err
		})
	}
	fail := func(step string, final bool) {
		do("failure", func() error {
			_, err := a.Fail(t.Context(), c.ID, agent, FailureRequest{Step: step, Error: "x", Final: final})
			return err
		})
	}
	tried, run := map[string]int{}, int64(1)
	send := func(e *Engine, channel string, became outbox.Status) {
		ticket, err := e.Ticket(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		tried[e.daemon.Host+channel]++
		ask := attempt(e, id, ticket.Intent, channel, tried[e.daemon.Host+channel])
		ask.Run = run
		do("attempt on "+channel, func() error {
			got, err := e.Attempt(t.Context(), ask)
			if got.Verdict != outbox.Go {
				t.Errorf("attempt on %s: %+v", channel, got)
			}
			return err
		})
		do(string(became)+" on "+channel, func() error {
			o := outcome(id, ticket.Intent, channel, ask.Number, became)
			o.Run = run
			_, err := e.Outcome(t.Context(), o)
			return err
		})
	}
	notify := func() {
		record("online", store.AssetOnline)
		record("vuln", store.VulnCheckDone)
		record("assess", store.HighRiskFound)
		do("notify", func() error {
			_, err := a.Notify(t.Context(), c.ID, agent, delivery.Request{Title: "x", Severity: "critical", Channels: []string{"ops", "pager"}})
			return err
		})
		clear(tried)
	}
	end := func() { do("finish", func() error { _, err := a.Finish(t.Context(), c.ID, agent, ""); return err }) }
	release := func() { do("release", func() error { return a.Release(t.Context(), c.ID, agent) }) }
	reopen := func() {
		do("reopen", func() error { _, err := a.Reopen(t.Context(), id, "1/0", "again"); return err })
		run++
	}
	said := delivery.Resolution{Ticket: id, By: "1/0", Reason: "by hand"}

	for range 2 {
		claim(task)
		fail("online", false)
		fail("online", false)
		release()
		claim(task)
		notify()
		send(a, "ops", outbox.Pending)
		send(a, "pager", outbox.Unknown)
		do("own", func() error {
			_, err := b.store.Own(t.Context(), id, mustTicket(t, a, id).Intent, a.config.Outbox.ID(), b.config.Outbox.ID(), "it is gone")
			return err
		})
		send(b, "ops", outbox.Dead)
		do("settle", func() error { _, err := b.Settle(t.Context(), said); return err }) // ops, and pager with it
		end()
		reopen()

		claim(task)
		do("break", func() error { return b.Break(t.Context(), asset, "1/0", "it hangs") })
		claim(task)
		notify()
		send(a, "pager", outbox.Sent)
		send(a, "ops", outbox.Dead)
		do("retry", func() error { _, err := b.Retry(t.Context(), said); return err })
		clear(tried)
		send(b, "ops", outbox.Dead)
		do("retry", func() error { _, err := a.Retry(t.Context(), said); return err })
		do("discard", func() error { _, err := b.Discard(t.Context(), said); return err })
		letGo(t, a, asset)
		do("idle", func() error { return a.store.FinishIdle(t.Context(), id) })
		reopen()

		claim(other)
		fail("online", false)
		release()
	}
	for _, x := range scripts {
		for _, y := range scripts {
			if !pairs[x+" after "+y] {
				t.Errorf("no copy of %s came after %s", x, y)
			}
		}
	}
}

// lateQuestion: whether an attempt may be made was asked, and answered or not; the outcome is known, others have tried. No copy of an
// earlier question takes an attempt, on which nobody would send: that would park what may be sent at most once.
func lateQuestion(t *testing.T, s *shared) {
	f, w := s.watched(t, "attempt")
	a, b := f.frozen("host-a"), f.frozen("host-b")
	k, _ := claimed(t, a, "question", "t")
	in := notified(t, a, k, "pager")
	for n, e := range []*Engine{a, b, a, b} {
		q := attempt(e, k.Ticket, in, "pager", n/2+1)
		verdict(t, e, q, outbox.Go)
		if n == 2 {
			e.daemon.Run = "the next run" // which asks about the same number, because the outbox did not take the outcome
			if _, err := e.Outcome(t.Context(), outcome(k.Ticket, in, "pager", q.Number, outbox.Pending)); err != nil {
				t.Fatal(err)
			}
			if got := mustTicket(t, a, k.Ticket).Delivery["pager"].Status; got != outbox.Sending {
				t.Errorf("the attempt of a run is %s by what another says of its own", got)
			}
			a.config.Redis.HSet(t.Context(), a.store.Keys.Ticket(k.Ticket), "delivery.pager", string(outbox.Pending))
		}
		if _, err := e.Outcome(t.Context(), outcome(k.Ticket, in, "pager", q.Number, outbox.Pending)); err != nil {
			t.Fatal(err)
		}
		for i := range w.sent {
			w.again(t, s.Client, i)
			if got := mustTicket(t, a, k.Ticket).Delivery["pager"]; got.Status != outbox.Pending || got.Attempts != int64(n+1) {
				t.Fatalf("after attempt %d a copy of question %d made it %+v", n+1, i, got)
			}
		}
	}
}

func mustTicket(t *testing.T, e *Engine, id store.TicketID) store.Ticket {
	t.Helper()
	ticket, err := e.Ticket(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}
