// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// TestParkedAndDeadAmongManyClosed: what waits for a person is listed however much was sent before it, until somebody has decided.
func TestParkedAndDeadAmongManyClosed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	box := h.server.config.Outbox.(*outbox.Store)
	closeAs := func(ref outbox.Ref, status outbox.Status) error {
		o := outbox.Outcome{Ref: ref, Channel: "ops", Number: 1, Status: status, At: time.Now()}
		return errors.Join(box.Record(o, time.Now(), true), box.Shut(ref, "ops"))
	}
	var all sync.WaitGroup
	for i := range outboxLimit + 1 { // at once, so that they share their fsyncs
		all.Go(func() {
			ref := outbox.Ref{Ticket: "web-00/t", ID: fmt.Sprintf("old-%d", i)}
			err := box.Adopt(outbox.Intent{
				Ref: ref, Asset: "web-00", Task: "t", Run: 1, Key: "k", At: time.Now().Add(-time.Hour),
				Channels: map[string]outbox.Delivery{"ops": {Type: "log", Status: outbox.Pending}},
			})
			if err = errors.Join(err, closeAs(ref, outbox.Sent)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	// left leaves a notification of an asset as a person finds it: state and status on the ticket, closed in the outbox.
	left := func(asset, state string, status outbox.Status) {
		t.Helper()
		ref := h.notified(t, asset)
		must(t, h.redis.HSet(t.Context(), "picket:{"+asset+"}:ticket:t", "delivery.ops", string(status), "state", state).Err())
		must(t, closeAs(ref, status))
	}
	left("web-01", client.StateNotifying, outbox.Parked)

	lists := func(status string, want int, more bool) {
		t.Helper()
		got, err := h.client.Outbox(t.Context(), status)
		if err != nil || len(got.Intents) != want || got.More != more {
			t.Fatalf("%q lists %d, more %v, %v; want %d, more %v", status, len(got.Intents), got.More, err, want, more)
		}
		if want == 1 && got.Intents[0].Ticket != map[string]string{"dead": "web-02/t", "parked": "web-01/t", "": "web-01/t"}[status] {
			t.Errorf("%q lists %+v", status, got.Intents[0])
		}
	}
	lists("parked", 1, false)
	lists("", 1, false)
	key := "picket:{web-01}:ticket:t" // its ticket knows both, or one would count as lost with it
	known := h.redis.HGet(t.Context(), key, "intents").Val()
	must(t, h.redis.HSet(t.Context(), key, "intents", known+" next", "intent", "next").Err())
	must(t, box.Adopt(outbox.Intent{ // of a retry of another channel, to which it was handed on: it is listed once
		Ref: outbox.Ref{Ticket: "web-01/t", ID: "next"}, Asset: "web-01", Task: "t", Run: 1, Key: "k", At: time.Now(),
		Channels: map[string]outbox.Delivery{"ops": {Type: "log", Status: outbox.Parked, Recorded: true}},
	}))
	lists("parked", 1, false)
	lists("", 1, false)
	lists("sent", outboxLimit, true)
	lists("closed", outboxLimit, true)
	_, err := h.client.Settle(t.Context(), "web-01", "t", "", "it arrived")
	must(t, err)
	lists("parked", 0, false)
	lists("", 0, false)

	left("web-02", client.StateFailed, outbox.Dead)
	lists("dead", 1, false)
	_, err = h.client.Discard(t.Context(), "web-02", "t", "", "nobody reads it any more")
	must(t, err)
	lists("dead", 0, false)
}

// notified has people told about an asset under the task t, and returns the intent.
func (h *host) notified(t *testing.T, asset string) outbox.Ref {
	t.Helper()
	claimed, err := h.client.Claim(t.Context(), client.ClaimRequest{Asset: asset, Task: "t", Heartbeat: "10m"})
	must(t, err)
	claim := claimed.Claim.ID
	for _, s := range [][2]string{{"online", client.StateAssetOnline}, {"vuln", client.StateVulnCheckDone}, {"assess", client.StateHighRiskFound}} {
		_, err = h.client.Step(t.Context(), claim, client.StepRequest{Step: s[0], State: s[1]})
		must(t, err)
	}
	_, err = h.client.Notify(t.Context(), claim, client.NotificationRequest{Title: "x", Text: "y", Severity: client.SeverityHigh}, 0)
	must(t, err)
	mine, err := h.client.OutboxTicket(t.Context(), asset, "t")
	must(t, err)
	return outbox.Ref{Ticket: asset + "/t", ID: mine.Intents[len(mine.Intents)-1].ID}
}

// TestARetriedIntentIsNotListedAsDead: of a channel that is refused once more after a retry, the last outcome alone is listed. A channel
// that a retry left alone stays listed.
func TestARetriedIntentIsNotListedAsDead(t *testing.T) {
	t.Parallel()
	h := setup(t)
	box, e := h.server.config.Outbox.(*outbox.Store), h.server.config.Engine.(*engine.Engine)
	at := time.Now()
	refuse := func(ref outbox.Ref) {
		t.Helper()
		at = at.Add(time.Second)
		o := outbox.Outcome{Ref: ref, Asset: "web-01", Task: "t", Run: 1, Channel: "ops", Number: 1, Status: outbox.Dead, At: at}
		must(t, box.Record(o, at, false))
		if closed, err := e.Outcome(t.Context(), o); err != nil || !closed {
			t.Fatalf("the refusal is recorded: %v, %v", closed, err)
		}
		must(t, box.Shut(ref, "ops"))
	}
	lists := func(want string) {
		t.Helper()
		got, err := h.client.Outbox(t.Context(), "dead")
		if err != nil || len(got.Intents) != 1 || got.Intents[0].ID != want {
			t.Fatalf("it lists %+v, %v; want %s", got.Intents, err, want)
		}
	}
	first := h.notified(t, "web-01")
	refuse(first)
	lists(first.ID)
	_, err := h.client.Retry(t.Context(), "web-01", "t", "", "mended")
	must(t, err)
	mine, err := h.client.OutboxTicket(t.Context(), "web-01", "t")
	must(t, err)
	second := outbox.Ref{Ticket: first.Ticket, ID: mine.Intents[1].ID}
	refuse(second)
	lists(second.ID)
	must(t, h.redis.HSet(t.Context(), "picket:{web-01}:ticket:t", "intent", "of a retry of another channel").Err())
	lists(second.ID)
}

// refusedIntents are closed, and dead on their channel.
type refusedIntents struct{ brokenOutbox }

func (refusedIntents) Find(origins []outbox.Origin, _ outbox.Status, _ int) ([]outbox.Intent, bool, error) {
	one := outbox.Intent{Asset: "web-01", Task: "t", Run: 1, Origin: outbox.Closed, Channels: map[string]outbox.Delivery{"ops": {Status: outbox.Dead}}}
	if !slices.Contains(origins, outbox.Closed) {
		return nil, false, nil
	}
	return []outbox.Intent{one, one, one}, false, nil
}

// withoutStore has no Redis: what is asked of it waits to the caller's end.
type withoutStore struct {
	failing
	waited atomic.Int32
}

func (w *withoutStore) Ticket(ctx context.Context, _ store.TicketID) (store.Ticket, error) {
	if ctx.Err() == nil {
		w.waited.Add(1)
	}
	<-ctx.Done()
	return store.Ticket{}, store.ErrUnavailable
}

// TestAListingWaitsForRedisOnce: when Redis is away, not for each intent, and what nobody knows to be decided is listed.
func TestAListingWaitsForRedisOnce(t *testing.T) {
	t.Parallel()
	away := &withoutStore{}
	h := serve(t, Config{Engine: away, Outbox: refusedIntents{}})
	r := h.wants(h.do("GET", "/v1/outbox?status=dead", ""), http.StatusOK)
	if n := strings.Count(r.body, `"ticket":"`); n != 3 || away.waited.Load() != 1 {
		t.Errorf("%d are listed after %d waits", n, away.waited.Load())
	}
}
