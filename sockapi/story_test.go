// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestStory takes an asset through the flow with the Go client, on every kind of Redis, and looks at every listing on the way.
func TestStory(t *testing.T) {
	t.Parallel()
	for _, kind := range redistest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			story(t, setupOn(t, kind))
		})
	}
}

func story(t *testing.T, h *host) {
	ctx := t.Context()
	c := h.client

	got, err := c.Claim(ctx, client.ClaimRequest{Asset: "Web-01.Example.com.", Task: "w48"})
	must(t, err)
	if got.Claim.Asset != "web-01.example.com" || got.Claim.Status != client.StatusHeld || got.Claim.Reason != nil {
		t.Errorf("got %+v", got.Claim)
	}
	if got.Claim.PID == nil || *got.Claim.PID != os.Getpid() || got.Claim.UID != uint32(os.Getuid()) {
		t.Errorf("the claim is not bound to the process that connected: %+v", got.Claim)
	}
	if len(got.Next) != 1 || got.Next[0].Step != client.StepOnline {
		t.Errorf("next is %v, want online", got.Next)
	}
	id := got.Claim.ID

	_, err = c.Claim(ctx, client.ClaimRequest{Asset: "web-01.example.com", Task: "w49"})
	held := wantCode(t, err, client.LockHeld)
	if held.Holder == nil || held.Holder.Host != "scan-01" || held.Holder.Task != "w48" || held.RetryAfter < time.Second {
		t.Errorf("the holder is %+v, to be asked again after %s", held.Holder, held.RetryAfter)
	}

	step, err := c.Step(ctx, id, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline, Facts: json.RawMessage(`{"port":443}`)})
	must(t, err)
	if step.Replayed || step.Ticket.State != client.StateAssetOnline {
		t.Errorf("got %+v", step)
	}
	step, err = c.Step(ctx, id, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOnline, Facts: json.RawMessage(`{ "port": 443 }`)})
	must(t, err)
	if !step.Replayed {
		t.Error("the same step again is not replayed")
	}
	_, err = c.Step(ctx, id, client.StepRequest{Step: client.StepOnline, State: client.StateAssetOffline})
	wantCode(t, err, client.StepConflict)
	_, err = c.Step(ctx, id, client.StepRequest{Step: client.StepAssess, State: client.StateHighRiskFound})
	illegal := wantCode(t, err, client.IllegalTransition)
	if illegal.State != client.StateAssetOnline || len(illegal.Allowed) == 0 || illegal.Allowed[0].Step != client.StepVuln {
		t.Errorf("got %+v, want what is allowed in ASSET_ONLINE", illegal)
	}
	_, err = c.Step(ctx, id, client.StepRequest{Step: "sleep", State: client.StateAssetOnline})
	wantCode(t, err, client.UnknownStep)

	failed, err := c.Fail(ctx, id, client.FailureRequest{Step: client.StepVuln, Error: "scanner: exit 1\n\tat line 3"})
	must(t, err)
	if failed.Ticket.Failure == nil || failed.Ticket.Failure.Count != 1 {
		t.Errorf("the failure is %+v", failed.Ticket.Failure)
	}
	for _, s := range [][2]string{{"vuln", client.StateVulnCheckDone}, {"assess", client.StateHighRiskFound}} {
		_, err = c.Step(ctx, id, client.StepRequest{Step: s[0], State: s[1], Summary: "as found"})
		must(t, err)
	}

	note := client.NotificationRequest{Title: "RCE on web-01", Text: "Patch it.", Severity: client.SeverityCritical}
	_, err = c.Notify(ctx, id, client.NotificationRequest{Title: "x", Text: "y", Severity: client.SeverityLow, Channels: []string{"nobody"}}, 0)
	wantCode(t, err, client.UnknownChannel)
	told, err := c.Notify(ctx, id, note, 10*time.Millisecond)
	must(t, err)
	if told.Replayed || told.Ticket.State != client.StateNotifying || told.Ticket.Notification == nil {
		t.Errorf("got %+v", told)
	}
	note.Text = "Or not."
	_, err = c.Notify(ctx, id, note, 0)
	wantCode(t, err, client.ContentConflict)

	intents, err := c.Outbox(ctx, "")
	must(t, err)
	if len(intents.Intents) != 1 || intents.Intents[0].Channels["ops"].Status != client.DeliveryPending || intents.Intents[0].Channels["ops"].Due == nil {
		t.Errorf("the outbox has %+v", intents.Intents)
	}
	for status, want := range map[string]int{"committed": 1, "pending": 1, "staged": 0, "closed": 0, "dead": 0} {
		intents, err = c.Outbox(ctx, status)
		must(t, err)
		if intents.Intents == nil || len(intents.Intents) != want {
			t.Errorf("%s: got %+v, want %d", status, intents.Intents, want)
		}
	}
	intents, err = c.OutboxTicket(ctx, "web-01.example.com", "w48")
	must(t, err)
	if len(intents.Intents) != 1 || intents.Intents[0].Ticket != "web-01.example.com/w48" {
		t.Errorf("got %+v", intents.Intents)
	}
	_, err = c.OutboxTicket(ctx, "web-01.example.com", "w49")
	wantCode(t, err, client.IntentNotFound)

	claims, err := c.Claims(ctx)
	must(t, err)
	if len(claims.Claims) != 1 || claims.Claims[0].ID != id {
		t.Errorf("got %+v", claims)
	}
	_, err = c.Heartbeat(ctx, id)
	must(t, err)
	done, err := c.Finish(ctx, id, "told")
	must(t, err)
	if done.State != client.StateNotifying {
		t.Errorf("finish in NOTIFYING left the ticket in %s", done.State)
	}
	must(t, c.Release(ctx, id))
	_, err = c.Heartbeat(ctx, id)
	if lost := wantCode(t, err, client.ClaimLost); lost.Reason != client.ReasonReleased {
		t.Errorf("the reason is %q", lost.Reason)
	}
	ended, err := c.GetClaim(ctx, id)
	must(t, err)
	if ended.Status != client.StatusReleased || ended.Reason == nil || *ended.Reason != client.ReasonReleased {
		t.Errorf("got %+v", ended)
	}
	if ended, err = c.WatchClaim(ctx, id, time.Minute); err != nil || ended.Status != client.StatusReleased {
		t.Errorf("watching what ended: %+v, %v", ended, err)
	}
	_, err = c.GetClaim(ctx, "nothing")
	wantCode(t, err, client.ClaimNotFound)

	history, err := c.History(ctx, "web-01.example.com", "w48")
	must(t, err)
	for i, e := range history.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
	}
	if len(history.Events) < 6 || len(history.Refused) == 0 {
		t.Errorf("the history has %d events and %d refusals", len(history.Events), len(history.Refused))
	}
	_, err = c.History(ctx, "web-01.example.com", "never")
	wantCode(t, err, client.TicketNotFound)
	_, err = c.Ticket(ctx, "web-01.example.com", "never")
	wantCode(t, err, client.TicketNotFound)
}

// TestTerminal: a ticket that is finished is answered to a claim, without one.
func TestTerminal(t *testing.T) {
	t.Parallel()
	h := setup(t)
	path := h.claim("a", "t")
	h.wants(h.do("POST", path+"/steps", `{"step":"online","state":"ASSET_OFFLINE"}`), http.StatusOK)
	h.wants(h.do("POST", path+"/finish", ""), http.StatusOK)
	h.wants(h.do("POST", path+"/finish", "{}"), http.StatusOK)
	r := h.wants(h.do("POST", "/v1/claims", `{"asset":"a","task":"t"}`), http.StatusOK)
	if !strings.HasPrefix(r.body, `{"ticket":{"id":"a/t",`) || !strings.HasSuffix(r.body, `,"claim":null,"next":[]}`+"\n") {
		t.Errorf("got %s", r.body)
	}
	h.wants(h.do("DELETE", path, ""), http.StatusNoContent)
}

// TestFactsToTheLetter: what JSON has in common with nobody's types stays as it was given.
func TestFactsToTheLetter(t *testing.T) {
	t.Parallel()
	h := setup(t)
	const facts = `{"z":[],"a":{},"n":12345678901234567,"f":1.0,"e":1E+2,"neg":-0,"html":"<a href='x'>&amp;</a>","u":"\u00e9é","nul":"\u0000","ls":"` + "\u2028" + `","null":null}`
	path := h.claim("a", "t")
	r := h.wants(h.do("POST", path+"/steps", `{"step":"online","state":"ASSET_ONLINE","facts": `+strings.ReplaceAll(facts, ",", " ,\n")+` }`), http.StatusOK)
	if !strings.Contains(r.body, `"facts":`+facts) {
		t.Errorf("the step's answer has other facts: %s", r.body)
	}
	if r = h.do("GET", "/v1/tickets/a/t", ""); !strings.Contains(r.body, `"facts":`+facts) {
		t.Errorf("the ticket has other facts: %s", r.body)
	}
	if r = h.do("GET", "/v1/tickets/a/t/history", ""); !strings.Contains(r.body, `"facts":`+facts) {
		t.Errorf("the history has other facts: %s", r.body)
	}
	if r = h.do("GET", "/v1/tickets", ""); !strings.Contains(r.body, `"a/t"`) || strings.Contains(r.body, `"facts"`) {
		t.Errorf("the listing has facts: %s", r.body)
	}
	h.wants(h.do("POST", path+"/steps", `{"step":"vuln","state":"VULN_CHECK_DONE"}`), http.StatusOK)
	if r = h.do("GET", "/v1/tickets/a/t", ""); !strings.Contains(r.body, `"facts":{}`) {
		t.Errorf("facts that were not given are not {}: %s", r.body)
	}
}

// TestListTickets pages through tickets and selects some.
func TestListTickets(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, task := range []string{"t1", "t2", "t3"} {
		must(t, h.client.Release(t.Context(), strings.TrimPrefix(h.claim("a", task), "/v1/claims/")))
	}
	time.Sleep(2 * time.Millisecond) // of what is written in the same ms, the revision decides
	h.claim("b", "t1")
	var seen []string
	q := client.TicketQuery{Limit: 3}
	for {
		page, err := h.client.Tickets(t.Context(), q)
		must(t, err)
		for _, one := range page.Tickets {
			seen = append(seen, one.ID)
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if len(seen) != 4 || seen[0] != "b/t1" {
		t.Errorf("got %v, want the four tickets, the newest first", seen)
	}
	page, err := h.client.Tickets(t.Context(), client.TicketQuery{Asset: "a", State: client.StateInit})
	must(t, err)
	if len(page.Tickets) != 3 {
		t.Errorf("got %+v", page.Tickets)
	}
	page, err = h.client.Tickets(t.Context(), client.TicketQuery{State: client.StateFailed})
	must(t, err)
	if page.Tickets == nil || len(page.Tickets) != 0 {
		t.Errorf("got %+v, want []", page.Tickets)
	}
	_, err = h.client.Tickets(t.Context(), client.TicketQuery{Cursor: "made-up"})
	if p := wantCode(t, err, client.Invalid); len(p.Errors) != 1 || p.Errors[0].Location != "query.cursor" {
		t.Errorf("got %+v", p.Errors)
	}
}

// TestG8_WatchTells: a watch answers when the claim ends.
func TestG8_WatchTells(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := strings.TrimPrefix(h.claim("a", "t"), "/v1/claims/")
	type watched struct {
		claim client.Claim
		err   error
	}
	answers := make(chan watched, 1)
	go func() {
		for {
			c, err := h.client.WatchClaim(context.WithoutCancel(t.Context()), id, time.Minute)
			if err != nil || c.Status != client.StatusHeld {
				answers <- watched{c, err}
				return
			}
		}
	}()
	must(t, h.client.Release(t.Context(), id))
	if got := <-answers; got.err != nil || got.claim.Status != client.StatusReleased {
		t.Errorf("got %+v", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code client.Code) *client.Problem {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return p
}
