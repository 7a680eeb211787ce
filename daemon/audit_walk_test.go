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
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// auditWalk makes calls one after another, and keeps what the audit must have of each.
type auditWalk struct {
	*testing.T
	*host
	raw  *http.Client
	ids  map[string]string   // of the kinds, as the catalogue has them
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
		"PICKET_AGENT_UID": strconv.Itoa(os.Getuid()), "MESSAGE_ID": w.ids[string(kind)],
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
	w.call("claim", audit.Claimed, asset+"/t", from, client.StateInit, func() (err error) {
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
	w.step(id, asset+"/t", client.StepOnline, client.StateInit, client.StateAssetOnline)
	w.step(id, asset+"/t", client.StepVuln, client.StateAssetOnline, client.StateVulnCheckDone)
	w.step(id, asset+"/t", client.StepAssess, client.StateVulnCheckDone, client.StateHighRiskFound)
	return id
}

func (w *auditWalk) tell(id, text string, channels ...string) func() error {
	return func() error {
		_, err := w.client.Notify(w.Context(), id, client.NotificationRequest{
			Title: auditSecret, Text: auditSecret + text, Severity: client.SeverityHigh, Channels: channels,
		}, 0)
		return err
	}
}

// notify has a notification accepted.
func (w *auditWalk) notify(id, asset, channel string) {
	w.T.Helper()
	w.call("notify", audit.Notifying, asset+"/t", client.StateHighRiskFound, client.StateNotifying, w.tell(id, "", channel))
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
	if _, err := gone.client.Notify(t.Context(), id, client.NotificationRequest{Title: "x", Text: "x", Severity: client.SeverityLow, Channels: []string{"pager"}}, 0); err != nil {
		t.Fatal(err)
	}
	gone.stop(t)
	g, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
	if err != nil {
		t.Fatal(err)
	}
	h := setup(t, func(c *Config) {
		c.Redis.Addrs, c.AdminGroup = []string{unixAddr(server)}, g.Name
		c.Redis.WaitReplicas, c.Redis.WaitTimeout, c.Redis.WaitElse = 1, Duration(5*time.Millisecond), GoOn // there is none
		deliverTo(c, r, channels...)
	})
	h.start(t)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.config.Socket.Path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	catalogue, err := os.ReadFile("../packaging/picket.catalog")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# (\w+)\n-- ([0-9a-f]{32})$`).FindAllStringSubmatch(string(catalogue), -1) {
		ids[m[1]] = m[2]
	}
	return &auditWalk{T: t, host: h, raw: &http.Client{Transport: transport}, ids: ids}, r, server
}

// TestG12_EachWriteLeavesOneRecord goes through every kind of write, accepted and refused, and every kind of record.
func TestG12_EachWriteLeavesOneRecord(t *testing.T) {
	t.Parallel()
	w, r, server := setupAuditWalk(t)
	w.walkFlow()
	w.walkClaims(server)
	w.walkDelivery(r)
	w.walkDaemon(t)
	silent := w.claim("silent.example", "", "1s")
	w.told(audit.Lost, "silent.example/t", "", "", "REASON", "silent")
	w.refused("step", "silent.example/t", "", client.StateAssetOnline, client.ClaimLost, w.stepTo(silent, client.StepOnline, client.StateAssetOnline, ""), "REASON", "silent", "STEP", client.StepOnline)
	w.told(audit.Inherited, theTicket, client.StateNotifying, client.StateNotifying)
	w.told(audit.Receipt, theTicket, client.StateNotifying, client.StateFinished, "CHANNEL", "pager")
	if err := server.Client().ZAdd(t.Context(), "picket:fleet:{fleet}:signs", redis.Z{Score: 1, Member: "burned"}).Err(); err != nil {
		t.Fatal(err)
	}
	w.call("retire", audit.Retired, "", "", "", w.post("/v1/hosts/burned/retire", `{"reason":"for good"}`), "REASON", " (burned): for good")
	id := w.claim("away.example", "", "5m")
	server.Freeze()
	w.call("step", audit.Unconfirmed, "away.example/t", "", client.StateAssetOnline, w.stepTo(id, client.StepOnline, client.StateAssetOnline, ""), "STEP", client.StepOnline)
	server.Thaw()
	w.told(audit.Unreplicated, "away.example/t", "", client.StateInit)
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w.told(audit.Alarm, "", "", "")
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
	for kind := range w.ids {
		if kind != string(audit.Refusals) && !seen[kind] {
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
	w.refused("step", ticket, client.StateInit, client.StateVulnCheckDone, client.IllegalTransition, w.stepTo(id, client.StepVuln, client.StateVulnCheckDone, ""), "STEP", client.StepVuln)
	failing := func(id string, final bool) func() error {
		return func() error {
			_, err := w.client.Fail(w.Context(), id, client.FailureRequest{Step: client.StepOnline, Error: auditSecret, Final: final})
			return err
		}
	}
	w.call("fail", audit.Failure, ticket, client.StateInit, client.StateInit, failing(id, false), "STEP", client.StepOnline)
	w.step(id, ticket, client.StepOnline, client.StateInit, client.StateAssetOnline)
	w.call("step", audit.Replayed, ticket, client.StateAssetOnline, client.StateAssetOnline, w.stepTo(id, client.StepOnline, client.StateAssetOnline, ""), "STEP", client.StepOnline)
	w.refused("step", ticket, "", client.StateAssetOnline, client.StepConflict, w.stepTo(id, client.StepOnline, client.StateAssetOnline, "y"), "STEP", client.StepOnline)
	w.step(id, ticket, client.StepVuln, client.StateAssetOnline, client.StateVulnCheckDone)
	w.step(id, ticket, client.StepAssess, client.StateVulnCheckDone, client.StateHighRiskFound)
	w.refused("notify", ticket, "", client.StateNotifying, client.UnknownChannel, w.tell(id, "", "nope"))
	w.notify(id, asset, "good")
	w.told(audit.Undelivered, ticket, client.StateNotifying, client.StateNotifying, "CHANNEL", "good")
	w.told(audit.Attempt, ticket, client.StateNotifying, client.StateNotifying, "CHANNEL", "good")
	w.told(audit.Receipt, ticket, client.StateNotifying, client.StateNotified, "CHANNEL", "good")
	w.call("notify", audit.Replayed, ticket, client.StateNotified, client.StateNotified, w.tell(id, "", "good"))
	w.refused("notify", ticket, "", client.StateNotifying, client.ContentConflict, w.tell(id, "other", "good"))
	finish := func() error { _, err := w.client.Finish(w.Context(), id, auditSecret); return err }
	w.call("finish", audit.Finished, ticket, client.StateNotified, client.StateFinished, finish)
	w.call("finish", audit.Replayed, ticket, client.StateFinished, client.StateFinished, finish)
	w.refused("step", ticket, "", client.StateAssetOnline, client.ClaimLost, w.stepTo(id, client.StepOnline, client.StateAssetOnline, ""), "REASON", "released", "STEP", client.StepOnline)

	w.refused("reopen", ticket, "", "", client.Invalid, w.post("/v1/tickets/"+ticket+"/reopen", `{}`))
	w.refused("reopen", "", "", "", client.InvalidAsset, w.post("/v1/tickets/%2e%2e/t/reopen", `{"reason":"x"}`))
	w.call("reopen", audit.Reopened, ticket, client.StateFinished, client.StateInit, w.post("/v1/tickets/"+ticket+"/reopen", `{"reason":"it is back"}`), "REASON", "it is back")
	w.refused("reopen", ticket, client.StateInit, "", client.IllegalTransition, w.post("/v1/tickets/"+ticket+"/reopen", `{"reason":"again"}`))
	id = w.claim(asset, client.StateInit, "5m")
	w.call("fail", audit.Failed, ticket, client.StateInit, client.StateFailed, failing(id, true), "STEP", client.StepOnline)
	release := func() error { return w.client.Release(w.Context(), id) }
	w.call("release", audit.Released, ticket, client.StateFailed, client.StateFailed, release)
	w.call("release", audit.Replayed, ticket, "", "", release)
	w.refused("finish", "", "", client.StateFinished, client.ClaimNotFound, func() error { _, err := w.client.Finish(w.Context(), "nope", ""); return err })
	w.refused("reopen", "none/t", "", "", client.TicketNotFound, w.post("/v1/tickets/none/t/reopen", `{"reason":"x"}`))
}

// walkClaims: how claims end that their agents did not end, and a writer that came too late.
func (w *auditWalk) walkClaims(server *redistest.Server) {
	id := w.claim("broken.example", "", "5m")
	w.call("breakLock", audit.Broken, "broken.example/t", client.StateInit, client.StateInit, w.post("/v1/locks/broken.example/break", `{"reason":"it hangs"}`), "REASON", "it hangs")
	w.told(audit.Lost, "broken.example/t", "", "", "REASON", "forced")
	w.refused("step", "broken.example/t", "", client.StateAssetOnline, client.ClaimLost, w.stepTo(id, client.StepOnline, client.StateAssetOnline, ""), "REASON", "forced", "STEP", client.StepOnline)
	w.call("breakLock", audit.Broken, "broken.example", "", "", w.post("/v1/locks/broken.example/break", `{"reason":"once more"}`), "REASON", "once more")
	w.refused("breakLock", "broken.example", "", "", client.Invalid, w.post("/v1/locks/broken.example/break", `{}`))

	id = w.claim("forced.example", "", "5m")
	w.call("release", audit.Forced, "forced.example/t", client.StateInit, client.StateInit, func() error { return w.client.Force(w.Context(), id) })
	w.told(audit.Lost, "forced.example/t", "", "", "REASON", "forced")

	id = w.claim("stale.example", "", "5m")
	if err := server.Client().HSet(w.Context(), "picket:{stale.example}:grant", "nonce", "another's").Err(); err != nil {
		w.T.Fatal(err)
	}
	w.refused("step", "stale.example/t", "", client.StateAssetOffline, client.StaleToken, w.stepTo(id, client.StepOnline, client.StateAssetOffline, ""), "STEP", client.StepOnline)
	w.told(audit.Lost, "stale.example/t", "", "", "REASON", "taken")
}

// walkDelivery: what becomes of notifications, and what an administrator says about them.
func (w *auditWalk) walkDelivery(r *receiver) {
	const bad, unsure, given = "bad.example", "unsure.example", "given.example"
	w.notify(w.risk(bad, ""), bad, "bad")
	w.told(audit.Dead, bad+"/t", client.StateNotifying, client.StateFailed, "CHANNEL", "bad")
	w.call("retry", audit.Retried, bad+"/t", client.StateFailed, client.StateNotifying, w.post("/v1/outbox/"+bad+"/t/retry", `{"reason":"it is mended"}`), "REASON", "it is mended")

	w.notify(w.risk(unsure, ""), unsure, once)
	w.told(audit.Parked, unsure+"/t", client.StateNotifying, client.StateNotifying, "CHANNEL", once)
	w.call("settle", audit.Settled, unsure+"/t", client.StateNotifying, client.StateNotified, w.post("/v1/outbox/"+unsure+"/t/settle", `{"reason":"seen","channel":"once"}`), "CHANNEL", once, "REASON", "seen")

	w.notify(w.risk(given, ""), given, "down")
	w.call("discard", audit.Discarded, given+"/t", client.StateNotifying, client.StateFailed, w.post("/v1/outbox/"+given+"/t/discard", `{"reason":"old"}`), "REASON", "old")
	w.refused("discard", given+"/t", client.StateFailed, "", client.IllegalTransition, w.post("/v1/outbox/"+given+"/t/discard", `{"reason":"old"}`))
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
	for range 2 * audit.Capacity {
		w.Daemon.audit.Record(audit.Event{Kind: audit.Finished})
	}
	w.audit.shut.Unlock()
	eventually(t, "the drops are told", func() bool {
		return find(recordsIn(t, w.audit.String()), map[string]string{"PICKET_EVENT": string(audit.Dropped)}) != nil
	})
}
