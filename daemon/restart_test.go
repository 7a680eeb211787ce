// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

func lockKey(asset string) string { return "picket:{" + asset + "}:lock" }

// intruder asks a host for assets again and again until the test ends, and is never to have one.
func intruder(t *testing.T, h *crashHost, assets ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, asset := range assets {
		work.Go(func() {
			for ctx.Err() == nil {
				got, err := h.client.Claim(ctx, client.ClaimRequest{Asset: asset, Task: "other", Heartbeat: "1m", Wait: "100ms"})
				if got.Claim != nil {
					t.Errorf("another has got in between on %s, with token %d", asset, got.Claim.Token)
					return
				}
				var p *client.Problem
				if ctx.Err() == nil && (!errors.As(err, &p) || p.Code != client.LockHeld) {
					t.Errorf("the one who asks for %s got %v", asset, err)
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

// TestG1_ClaimsOutliveTheDaemon: it is killed, or told to stop, and starts again on its state. Live agents keep claim, token and
// lock; what an agent held that ended meanwhile is freed at once; what ran out meanwhile is lost; nobody gets in between.
func TestG1_ClaimsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *crashHost){
		"SIGKILL": func(_ *testing.T, h *crashHost) { h.kill() },
		"SIGTERM": func(t *testing.T, h *crashHost) { h.stop(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, _ := twoHosts(t, 10*time.Minute) // so that no lock runs out here
			agents := map[string]*agentProcess{}
			claims := map[string]client.Claim{}
			for asset, ask := range map[string]client.ClaimRequest{
				"lives": {}, "ended": {}, "beats": {Heartbeat: "8s"}, "capped": {MaxHold: "1s"}, "within": {MaxHold: "1h"},
			} {
				ask.Asset, ask.Task = asset, theTask
				agents[asset] = newAgent(t, a)
				claims[asset] = agents[asset].claims(t, ask, 0)
			}
			intruder(t, b, "lives", "within")
			nonce := a.redis.Get(t.Context(), lockKey("lives")).Val()

			end(t, a)
			agents["ended"].kill()
			for _, asset := range []string{"lives", "within", "beats"} { // a part of the lock's time passes
				if set, err := a.redis.PExpire(t.Context(), lockKey(asset), 5*time.Minute).Result(); err != nil || !set {
					t.Errorf("the lock of %s is not there: %v", asset, err)
				}
			}
			next := make(chan report)
			waiter := newAgent(t, b)
			go func() {
				ask := waits("ended")
				waiter.tell(t, order{Claim: &ask})
				next <- waiter.says(t)
			}()
			time.Sleep(8500 * time.Millisecond) // longer than the heartbeat: it is not the agent's silence; and than max_hold
			a.start(t, "")

			for _, asset := range []string{"beats", "lives", "within"} {
				a.wantHeld(t, claims[asset])
				agents[asset].records(t)
				if left := a.redis.PTTL(t.Context(), lockKey(asset)).Val(); left <= 5*time.Minute {
					t.Errorf("the lock of %s is not renewed: it has %s left", asset, left)
				}
			}
			if now := a.redis.Get(t.Context(), lockKey("lives")).Val(); now != nonce || nonce == "" {
				t.Errorf("the lock's nonce was %q, and is %q", nonce, now)
			}
			if got := <-next; got.Claim == nil || got.Claim.Token <= claims["ended"].Token {
				t.Errorf("who waits for what an ended agent held got %+v", got)
			}
			a.wantLost(t, claims["ended"], client.ReasonProcessExit)
			_, err := a.client.Heartbeat(t.Context(), claims["ended"].ID)
			wantCode(t, err, client.ClaimLost)
			var p *client.Problem
			if errors.As(err, &p) && p.PID != agents["ended"].cmd.Process.Pid {
				t.Errorf("it is said that process %d ended", p.PID)
			}
			a.wantLost(t, claims["capped"], client.ReasonMaxHold)
			agents["capped"].tell(t, offline)
			agents["capped"].says(t).wantRefused(t, client.ReasonMaxHold)
			a.wantLost(t, claims["beats"], client.ReasonSilent) // it has not said anything since
		})
	}
}

// TestF30_OnlyWhatTheJournalHoldsIsTakenUp: not what another has taken since, nor what another daemon or an unknown one holds.
func TestF30_OnlyWhatTheJournalHoldsIsTakenUp(t *testing.T) {
	t.Parallel()
	a, b, _ := twoHosts(t, 10*time.Minute)
	agent := newAgent(t, a)
	old := agent.claims(t, client.ClaimRequest{Asset: "taken", Task: theTask}, 0)
	kept := agent.claims(t, client.ClaimRequest{Asset: "kept", Task: theTask}, 0)
	other := newAgent(t, b)
	others := other.claims(t, client.ClaimRequest{Asset: "others", Task: theTask}, 0)
	a.kill()
	a.lockEnds(t, "taken")
	taker := newAgent(t, b)
	taken := taker.claims(t, client.ClaimRequest{Asset: "taken", Task: theTask}, 0)
	a.start(t, "")
	fresh := agent.claims(t, client.ClaimRequest{Asset: "fresh", Task: theTask}, 0)
	a.wantLost(t, old, client.ReasonTaken)
	a.wantHeld(t, kept)
	a.wantHeld(t, fresh)
	agent.records(t)
	b.wantHeld(t, taken)
	taker.records(t)
	b.wantHeld(t, others)
	if list, err := a.client.Claims(t.Context()); err != nil || len(list.Claims) != 2 {
		t.Errorf("the daemon holds %+v, %v", list, err)
	}

	a.kill()
	if err := os.RemoveAll(a.config.StateDir); err != nil {
		t.Fatal(err)
	}
	a.start(t, "")
	if list, err := a.client.Claims(t.Context()); err != nil || len(list.Claims) != 0 {
		t.Errorf("a daemon without a journal holds %+v, %v", list, err)
	}
	_, err := a.client.GetClaim(t.Context(), kept.ID)
	wantCode(t, err, client.ClaimNotFound)
	_, err = b.client.Claim(t.Context(), client.ClaimRequest{Asset: "kept", Task: theTask, Heartbeat: "1m"})
	wantCode(t, err, client.LockHeld) // nothing is flushed
	other.records(t)
}

// TestF9_SIGTERMFreesNoLiveClaim: the locks stay, with their nonces, while the agents go on with their work.
func TestF9_SIGTERMFreesNoLiveClaim(t *testing.T) {
	t.Parallel()
	a, b, _ := twoHosts(t, 10*time.Minute)
	agent := newAgent(t, a)
	assets := []string{"one", "two", "three"}
	nonces := map[string]string{}
	for _, asset := range assets {
		agent.claims(t, client.ClaimRequest{Asset: asset, Task: theTask}, 0)
		nonces[asset] = a.redis.Get(t.Context(), lockKey(asset)).Val()
	}
	intruder(t, b, assets...)
	a.stop(t)
	for _, asset := range assets {
		if now := a.redis.Get(t.Context(), lockKey(asset)).Val(); now != nonces[asset] || now == "" {
			t.Errorf("the lock of %s was %q, and is %q", asset, nonces[asset], now)
		}
	}
	a.start(t, "")
	agent.records(t)
}

// rawCall is a call without the client's manners: what a daemon that stops answers is not followed.
func rawCall(socket, method, path, body string) (status int, header http.Header, problem client.Problem, err error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://picket"+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, problem, err
	}
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(req)
	if err != nil {
		return 0, nil, problem, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	_ = json.Unmarshal(b, &problem)
	return resp.StatusCode, resp.Header, problem, err
}

// TestDrainingAnswersWhoWaitsAndLetsCallsFinish: a write stands in front of Redis when SIGTERM comes. Who waits is answered while
// it stands there, and the write is answered when Redis has.
func TestDrainingAnswersWhoWaitsAndLetsCallsFinish(t *testing.T) {
	t.Parallel()
	h := newCrashHost(t, "host-a", redistest.Start(t), nil)
	h.config.Lock.TTL = Duration(10 * time.Minute)
	h.start(t, "")
	held, err := h.client.Claim(t.Context(), client.ClaimRequest{Asset: theAsset, Task: theTask, Heartbeat: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		status int
		header http.Header
		client.Problem
		err error
	}
	call := func(method, path, body string) <-chan answer {
		answers := make(chan answer, 1)
		go func() {
			var a answer
			a.status, a.header, a.Problem, a.err = rawCall(h.config.Socket.Path, method, path, body)
			answers <- a
		}()
		return answers
	}
	h.dieAt(t, "hold step")
	write := call("POST", "/v1/claims/"+held.Claim.ID+"/steps", `{"step": "online", "state": "ASSET_ONLINE"}`)
	h.holds(t)
	waiter := call("POST", "/v1/claims", `{"asset": "web-01", "task": "t2", "heartbeat": "1m", "wait": "10m"}`)
	watcher := call("GET", "/v1/claims/"+held.Claim.ID+"?wait=10m", "")
	eventually(t, "a call waits", func() bool {
		return strings.Contains(metricsOf(h), "picket_claims_waiting 1")
	})
	h.client.CloseIdleConnections()
	begun := time.Now()
	h.signal(t, syscall.SIGTERM)
	if a := <-waiter; a.status != http.StatusServiceUnavailable || a.Code != client.Draining || a.header.Get("Retry-After") != "0" {
		t.Errorf("who waits for the asset got %d %s, Retry-After %q, %v", a.status, a.Code, a.header.Get("Retry-After"), a.err)
	}
	if a := <-watcher; a.status != http.StatusOK && a.Code != client.Draining {
		t.Errorf("who watches the claim got %d %s, %v", a.status, a.Code, a.err)
	}
	t.Logf("who waited was answered after %s", time.Since(begun))
	select {
	case a := <-write:
		t.Errorf("the write is answered with %d %s, %v, before Redis has answered", a.status, a.Code, a.err)
	default:
	}
	h.dieAt(t, "") // it goes on
	if a := <-write; a.status != http.StatusOK {
		t.Errorf("the write got %d %s, %v", a.status, a.Code, a.err)
	}
	if err := h.take().Wait(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v", err)
	}
}

// metricsOf is what a daemon says of itself.
func metricsOf(h *crashHost) string {
	resp, err := (&http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", h.config.Socket.Path)
		},
	}}).Get("http://picket/metrics")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
