// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// auditWalk makes calls one after another, and keeps what the audit must have of each.
type auditWalk struct {
	*testing.T
	*host
	raw  *http.Client
	want []map[string]string // one for each call that writes, or is refused
}

// secret stands in everything that an agent says and the audit must not repeat.
const auditSecret = "s3cr3t"

// call makes one, which must leave exactly one record: that of an event, with these fields beside.
func (w *auditWalk) call(name string, kind audit.Kind, ticket, from, to string, do func() error, more ...string) {
	w.T.Helper()
	err := do()
	if bad := kind == audit.Refused || kind == audit.Unconfirmed; bad != (err != nil) {
		w.T.Fatalf("%s %s on %s: got %v", name, kind, ticket, err)
	}
	asset, _, _ := strings.Cut(ticket, "/")
	want := map[string]string{
		"PICKET_CALL": name, "PICKET_EVENT": string(kind), "PICKET_ASSET": asset, "PICKET_TICKET": ticket, "PICKET_FROM": from,
		"PICKET_TO": to, "PICKET_HOST": "host-a", "PICKET_AGENT_PID": strconv.Itoa(os.Getpid()),
		"PICKET_AGENT_UID": strconv.Itoa(os.Getuid()), "MESSAGE_ID": auditKinds[kind].id,
	}
	if !strings.Contains(ticket, "/") {
		want["PICKET_TICKET"] = ""
	}
	for i := 0; i < len(more); i += 2 {
		want["PICKET_"+more[i]] = more[i+1]
	}
	w.want = append(w.want, want)
}

func (w *auditWalk) refused(name, ticket, from, to string, code client.Code, do func() error, more ...string) {
	w.T.Helper()
	w.call(name, audit.Refused, ticket, from, to, do, append(more, "CODE", string(code))...)
}

// post sends a body as it is.
func (w *auditWalk) post(path, body string) func() error {
	return func() error {
		resp, err := w.raw.Post("http://picket"+path, "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if resp.StatusCode >= 300 {
			return fmt.Errorf("%s", text)
		}
		return err
	}
}

func (w *auditWalk) claim(asset, from string, heartbeat string) string {
	w.T.Helper()
	var got client.ClaimResponse
	w.call("claim", audit.Claimed, asset+"/t", from, "INIT", func() (err error) {
		got, err = w.client.Claim(w.Context(), client.ClaimRequest{Asset: asset, Task: "t", Heartbeat: heartbeat})
		return err
	})
	w.want[len(w.want)-1]["PICKET_TOKEN"] = strconv.FormatInt(got.Claim.Token, 10)
	return got.Claim.ID
}

func (w *auditWalk) stepTo(id, step, state, facts string) func() error {
	return func() error {
		_, err := w.client.Step(w.Context(), id, client.StepRequest{
			Step: step, State: state, Facts: []byte(`{"x":"` + auditSecret + facts + `"}`), Summary: auditSecret,
		})
		return err
	}
}

func (w *auditWalk) step(id, ticket, step, from, to string) {
	w.T.Helper()
	w.call("step", audit.Step, ticket, from, to, w.stepTo(id, step, to, ""), "STEP", step)
}

// risk claims an asset and brings it to HIGH_RISK_FOUND.
func (w *auditWalk) risk(asset, from string) string {
	w.T.Helper()
	id := w.claim(asset, from, "5m")
	w.step(id, asset+"/t", "online", "INIT", "ASSET_ONLINE")
	w.step(id, asset+"/t", "vuln", "ASSET_ONLINE", "VULN_CHECK_DONE")
	w.step(id, asset+"/t", "assess", "VULN_CHECK_DONE", "HIGH_RISK_FOUND")
	return id
}

func (w *auditWalk) tell(id, text string, channels ...string) func() error {
	return func() error {
		_, err := w.client.Notify(w.Context(), id, client.NotificationRequest{
			Title: auditSecret, Text: auditSecret + text, Severity: "high", Channels: channels,
		}, 0)
		return err
	}
}

// notify has a notification accepted.
func (w *auditWalk) notify(id, asset, channel string) {
	w.T.Helper()
	w.call("notify", audit.Notifying, asset+"/t", "HIGH_RISK_FOUND", "NOTIFYING", w.tell(id, "", channel))
}

// told waits for a record that no call leaves.
func (w *auditWalk) told(kind audit.Kind, ticket, from, to string, more ...string) {
	w.T.Helper()
	want := map[string]string{"PICKET_EVENT": string(kind), "PICKET_TICKET": ticket, "PICKET_FROM": from, "PICKET_TO": to}
	for i := 0; i < len(more); i += 2 {
		want["PICKET_"+more[i]] = more[i+1]
	}
	for deadline := time.Now().Add(2 * time.Minute); find(recordsIn(w.T, w.audit.String()), want) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.T.Fatalf("there is no record with %v", want)
		}
	}
}

// setupAuditWalk starts a host whose administrator is the test, and another beside it that is gone when it returns, with a
// notification that it had not delivered.
func setupAuditWalk(t *testing.T) (*auditWalk, *receiver, *redistest.Server) {
	t.Helper()
	r, server := newReceiver(t), redistest.Start(t)
	r.answers(func(channel string, n int) int {
		switch {
		case channel == "good" && n > 1, channel == "pager" && n > 3:
			return http.StatusOK
		case channel == "bad":
			return http.StatusBadRequest
		}
		return http.StatusInternalServerError
	})
	channels := []string{"good", "bad", "down", "pager", once}
	gone := setupDelivery(t, unixAddr(server), r, channels...)
	gone.start(t)
	id := mustRisk(t, gone.client)
	if _, err := gone.client.Notify(t.Context(), id, client.NotificationRequest{Title: "x", Text: "x", Severity: "low", Channels: []string{"pager"}}, 0); err != nil {
		t.Fatal(err)
	}
	gone.stop(t)
	g, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
	if err != nil {
		t.Fatal(err)
	}
	h := setup(t, func(c *Config) {
		c.Redis.Addrs, c.AdminGroup = []string{unixAddr(server)}, g.Name
		deliverTo(c, r, channels...)
	})
	h.start(t)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.config.Socket.Path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &auditWalk{T: t, host: h, raw: &http.Client{Transport: transport}}, r, server
}

// TestG12_EachWriteLeavesOneRecord goes through every kind of write, accepted and refused, and every kind of record.
func TestG12_EachWriteLeavesOneRecord(t *testing.T) {
	t.Parallel()
	w, r, server := setupAuditWalk(t)
	silent := w.claim("silent.example", "", "1s")
	w.walkFlow()
	w.walkClaims(server)
	w.walkDelivery(r)
	w.walkDaemon(t)
	w.told(audit.Lost, "silent.example/t", "", "", "REASON", "silent")
	w.refused("step", "silent.example/t", "", "ASSET_ONLINE", client.ClaimLost, w.stepTo(silent, "online", "ASSET_ONLINE", ""), "REASON", "silent", "STEP", "online")
	w.told(audit.Inherited, theTicket, "NOTIFYING", "NOTIFYING")
	w.told(audit.Receipt, theTicket, "NOTIFYING", "FINISHED", "CHANNEL", "pager")
	id := w.claim("away.example", "", "5m")
	server.Freeze()
	w.call("step", audit.Unconfirmed, "away.example/t", "", "ASSET_ONLINE", w.stepTo(id, "online", "ASSET_ONLINE", ""), "STEP", "online")
	server.Thaw()
	w.host.stop(t)

	records := recordsIn(t, w.audit.String())
	wantNumbered(t, records)
	var calls []map[string]string
	for _, rec := range records {
		if call := rec["PICKET_CALL"]; call != "" && call != "outcome" {
			calls = append(calls, rec)
		}
		if rec["MESSAGE"] == "" || rec["PRIORITY"] == "" || strings.Contains(rec["MESSAGE"], "?") && rec["PICKET_EVENT"] == "step" {
			t.Errorf("the record lacks something for people: %v", rec)
		}
	}
	for i := range max(len(calls), len(w.want)) {
		if i >= len(calls) || i >= len(w.want) || !has(calls[i], w.want[i]) {
			t.Fatalf("call %d of %d, with %d records:\ngot  %v\nwant %v", i, len(w.want), len(calls), calls[min(i, len(calls)-1)], w.want[min(i, len(w.want)-1)])
		}
	}
	if last := records[len(records)-1]; last["PICKET_EVENT"] != string(audit.Stopped) {
		t.Errorf("the last record is %v", last)
	}
	if strings.Contains(w.audit.String(), auditSecret) {
		t.Error("the audit repeats what an agent said")
	}
	seen := kindsIn(records)
	for kind := range auditKinds {
		if kind != audit.Refusals && !seen[string(kind)] {
			t.Errorf("no record of kind %s was seen", kind)
		}
	}
}

// walkFlow: what an agent does from claim to finish, and what is refused on the way.
func (w *auditWalk) walkFlow() {
	const asset, ticket = "web-01.example", "web-01.example/t"
	w.refused("claim", "", "", "", client.InvalidAsset, w.post("/v1/claims", `{"asset":"..","task":"t"}`))
	w.refused("claim", "", "", "", client.BadRequest, w.post("/v1/claims", auditSecret))
	id := w.claim(asset, "", "5m")
	w.refused("claim", asset+"/u", "", "", client.LockHeld, w.post("/v1/claims", `{"asset":"`+asset+`","task":"u","heartbeat":"1m"}`))
	if _, err := w.client.Heartbeat(w.Context(), id); err != nil { // leaves none
		w.T.Fatal(err)
	}
	w.refused("step", ticket, "", "", client.Invalid, w.post("/v1/claims/"+id+"/steps", `{"step":"online"}`))
	w.refused("step", ticket, "", "X", client.UnknownStep, w.stepTo(id, "nope", "X", ""), "STEP", "nope")
	w.refused("step", ticket, "INIT", "VULN_CHECK_DONE", client.IllegalTransition, w.stepTo(id, "vuln", "VULN_CHECK_DONE", ""), "STEP", "vuln")
	failing := func(id string, final bool) func() error {
		return func() error {
			_, err := w.client.Fail(w.Context(), id, client.FailureRequest{Step: "online", Error: auditSecret, Final: final})
			return err
		}
	}
	w.call("fail", audit.Failure, ticket, "INIT", "INIT", failing(id, false), "STEP", "online")
	w.step(id, ticket, "online", "INIT", "ASSET_ONLINE")
	w.call("step", audit.Replayed, ticket, "ASSET_ONLINE", "ASSET_ONLINE", w.stepTo(id, "online", "ASSET_ONLINE", ""), "STEP", "online")
	w.refused("step", ticket, "", "ASSET_ONLINE", client.StepConflict, w.stepTo(id, "online", "ASSET_ONLINE", "y"), "STEP", "online")
	w.step(id, ticket, "vuln", "ASSET_ONLINE", "VULN_CHECK_DONE")
	w.step(id, ticket, "assess", "VULN_CHECK_DONE", "HIGH_RISK_FOUND")
	w.refused("notify", ticket, "", "NOTIFYING", client.UnknownChannel, w.tell(id, "", "nope"))
	w.notify(id, asset, "good")
	w.told(audit.Undelivered, ticket, "NOTIFYING", "NOTIFYING", "CHANNEL", "good")
	w.told(audit.Attempt, ticket, "NOTIFYING", "NOTIFYING", "CHANNEL", "good")
	w.told(audit.Receipt, ticket, "NOTIFYING", "NOTIFIED", "CHANNEL", "good")
	w.call("notify", audit.Replayed, ticket, "NOTIFIED", "NOTIFIED", w.tell(id, "", "good"))
	w.refused("notify", ticket, "", "NOTIFYING", client.ContentConflict, w.tell(id, "other", "good"))
	finish := func() error { _, err := w.client.Finish(w.Context(), id, auditSecret); return err }
	w.call("finish", audit.Finished, ticket, "NOTIFIED", "FINISHED", finish)
	w.call("finish", audit.Replayed, ticket, "FINISHED", "FINISHED", finish)
	w.refused("step", ticket, "", "ASSET_ONLINE", client.ClaimLost, w.stepTo(id, "online", "ASSET_ONLINE", ""), "REASON", "released", "STEP", "online")

	w.refused("reopen", ticket, "", "", client.Invalid, w.post("/v1/tickets/"+ticket+"/reopen", `{}`))
	w.refused("reopen", "", "", "", client.InvalidAsset, w.post("/v1/tickets/%2e%2e/t/reopen", `{"reason":"x"}`))
	w.call("reopen", audit.Reopened, ticket, "FINISHED", "INIT", w.post("/v1/tickets/"+ticket+"/reopen", `{"reason":"it is back"}`), "REASON", "it is back")
	w.refused("reopen", ticket, "INIT", "", client.IllegalTransition, w.post("/v1/tickets/"+ticket+"/reopen", `{"reason":"again"}`))
	id = w.claim(asset, "INIT", "5m")
	w.call("fail", audit.Failed, ticket, "INIT", "FAILED", failing(id, true), "STEP", "online")
	release := func() error { return w.client.Release(w.Context(), id) }
	w.call("release", audit.Released, ticket, "FAILED", "FAILED", release)
	w.call("release", audit.Replayed, ticket, "", "", release)
	w.refused("finish", "", "", "FINISHED", client.ClaimNotFound, func() error { _, err := w.client.Finish(w.Context(), "nope", ""); return err })
	w.refused("reopen", "none/t", "", "", client.TicketNotFound, w.post("/v1/tickets/none/t/reopen", `{"reason":"x"}`))
}

// walkClaims: how claims end that their agents did not end, and a writer that came too late.
func (w *auditWalk) walkClaims(server *redistest.Server) {
	id := w.claim("broken.example", "", "5m")
	w.call("breakLock", audit.Broken, "broken.example/t", "INIT", "INIT", w.post("/v1/locks/broken.example/break", `{"reason":"it hangs"}`), "REASON", "it hangs")
	w.told(audit.Lost, "broken.example/t", "", "", "REASON", "forced")
	w.refused("step", "broken.example/t", "", "ASSET_ONLINE", client.ClaimLost, w.stepTo(id, "online", "ASSET_ONLINE", ""), "REASON", "forced", "STEP", "online")
	w.call("breakLock", audit.Broken, "broken.example", "", "", w.post("/v1/locks/broken.example/break", `{"reason":"once more"}`), "REASON", "once more")
	w.refused("breakLock", "broken.example", "", "", client.Invalid, w.post("/v1/locks/broken.example/break", `{}`))

	id = w.claim("forced.example", "", "5m")
	w.call("release", audit.Forced, "forced.example/t", "INIT", "INIT", func() error { return w.client.Force(w.Context(), id) })
	w.told(audit.Lost, "forced.example/t", "", "", "REASON", "forced")

	id = w.claim("stale.example", "", "5m")
	if err := server.Client().HSet(w.Context(), "picket:{stale.example}:grant", "nonce", "another's").Err(); err != nil {
		w.T.Fatal(err)
	}
	w.refused("step", "stale.example/t", "", "ASSET_OFFLINE", client.StaleToken, w.stepTo(id, "online", "ASSET_OFFLINE", ""), "STEP", "online")
	w.told(audit.Lost, "stale.example/t", "", "", "REASON", "taken")
}

// walkDelivery: what becomes of notifications, and what an administrator says about them.
func (w *auditWalk) walkDelivery(r *receiver) {
	const bad, unsure, given = "bad.example", "unsure.example", "given.example"
	w.notify(w.risk(bad, ""), bad, "bad")
	w.told(audit.Dead, bad+"/t", "NOTIFYING", "FAILED", "CHANNEL", "bad")
	w.call("retry", audit.Retried, bad+"/t", "FAILED", "NOTIFYING", w.post("/v1/outbox/"+bad+"/t/retry", `{"reason":"it is mended"}`), "REASON", "it is mended")

	w.notify(w.risk(unsure, ""), unsure, once)
	w.told(audit.Parked, unsure+"/t", "NOTIFYING", "NOTIFYING", "CHANNEL", once)
	w.call("settle", audit.Settled, unsure+"/t", "NOTIFYING", "NOTIFIED", w.post("/v1/outbox/"+unsure+"/t/settle", `{"reason":"seen","channel":"once"}`), "CHANNEL", once, "REASON", "seen")

	w.notify(w.risk(given, ""), given, "down")
	w.call("discard", audit.Discarded, given+"/t", "NOTIFYING", "FAILED", w.post("/v1/outbox/"+given+"/t/discard", `{"reason":"old"}`), "REASON", "old")
	w.refused("discard", given+"/t", "FAILED", "", client.IllegalTransition, w.post("/v1/outbox/"+given+"/t/discard", `{"reason":"old"}`))
	w.refused("retry", "none/t", "", "", client.TicketNotFound, w.post("/v1/outbox/none/t/retry", `{"reason":"x"}`))

	w.call("testChannel", audit.Tested, "", "", "", w.post("/v1/channels/bad/test", `{}`), "CHANNEL", "bad", "REASON", "dead")
	w.refused("testChannel", "", "", "", client.UnknownChannel, w.post("/v1/channels/nope/test", `{}`), "CHANNEL", "nope")
}

// walkDaemon: the configuration read again, and a journal that takes nothing for a while.
func (w *auditWalk) walkDaemon(t *testing.T) {
	path := write(t, "picket.toml", "[lock]\nttl = \"20s\"\n")
	w.Daemon.config.path = path
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[lock]\nttl = \""+auditSecret+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(); err == nil {
		t.Error("a wrong configuration was accepted")
	}
	w.audit.shut.Lock()
	for range 2 * auditQueue {
		w.Daemon.audit.record(audit.Event{Kind: audit.Finished})
	}
	w.audit.shut.Unlock()
	eventually(t, "the drops are told", func() bool {
		return find(recordsIn(t, w.audit.String()), map[string]string{"PICKET_EVENT": string(audit.Dropped)}) != nil
	})
}
