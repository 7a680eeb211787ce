// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func TestF28_AWrongGuessCostsAReRunNeverAWrongTicket(t *testing.T) { everywhere(t, wrongGuess) }

// wrongGuess: A is at work, but says nothing for too long and is taken for hung. B takes over from what A recorded; what A writes
// late is refused; A may claim again and is given what B recorded.
func wrongGuess(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	ask := waiting(a, "guess", patience)
	ask.Heartbeat = 8 * time.Second
	ca, err := a.Claim(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := step(t, a, ca.Claim, "online", store.AssetOnline, `{"port":22}`); err != nil {
		t.Fatal(err)
	}
	cb, err := b.Claim(t.Context(), waiting(b, "guess", patience))
	if err != nil || cb.Ticket.State != store.AssetOnline {
		t.Fatalf("got %+v, %v", cb, err)
	}
	if _, err := step(t, b, cb.Claim, "vuln", store.VulnCheckDone, `{"found":1}`); err != nil {
		t.Fatal(err)
	}
	_, err = step(t, a, ca.Claim, "vuln", store.VulnCheckDone, `{"found":0}`)
	wantLost(t, err, ReasonSilent)
	if err := b.Release(t.Context(), cb.Claim.ID, agent); err != nil {
		t.Fatal(err)
	}
	again, err := a.Claim(t.Context(), ask)
	if err != nil || string(again.Ticket.Steps["vuln"].Facts) != `{"found":1}` || string(again.Ticket.Steps["online"].Facts) != `{"port":22}` {
		t.Fatalf("got %+v, %v", again, err)
	}
	if r, err := step(t, a, again.Claim, "assess", store.Finished, ""); err != nil || r.Ticket.State != store.Finished {
		t.Errorf("got %+v, %v", r, err)
	}
	names, refused := events(t, a, ca.Claim.Ticket)
	if want := []string{"claimed", "step", "lost", "claimed", "step", "released", "claimed", "step"}; !slices.Equal(names, want) {
		t.Errorf("events are %v, want %v", names, want)
	}
	if len(refused) != 1 || refused[0].Step != "vuln" || refused[0].Token != ca.Claim.Token {
		t.Errorf("refused are %+v", refused)
	}
}

// executed is a hook that is called when Redis has executed a command, before its reply is seen.
type executed func(name string, args []any)

func (h executed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h executed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h(cmd.Name(), cmd.Args())
		return err
	}
}

func (h executed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			h(cmd.Name(), cmd.Args())
		}
		return err
	}
}

// TestF10_ACallerWhoGoesAwayIsGivenNothing: when Redis has just given the lock, or the grant, to its call. Its process lives on, and
// would hold what nobody knows of for an hour.
func TestF10_ACallerWhoGoesAwayIsGivenNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct := &fleet{t, client(server.Addr()), "picket"}
	t.Cleanup(func() { _ = direct.client.Close() })
	b := direct.host("host-b")
	claimed(t, b, "warm", "t") // so that Redis knows the scripts
	pid, _ := child(t)
	for what, at := range map[string]func(name string, args []any) bool{
		"lock":  func(name string, _ []any) bool { return name == "set" || name == "setnx" },
		"grant": func(name string, args []any) bool { return name == "evalsha" && args[1] == script("mint").Hash() },
	} {
		t.Run(what, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			hooked := client(server.Addr())
			defer hooked.Close()
			left := false
			hooked.AddHook(executed(func(name string, args []any) {
				if at(name, args) {
					left = true
					leave()
				}
			}))
			a := (&fleet{t, hooked, "picket"}).host("host-a", func(c *Config) { c.TTL = time.Minute })
			_, err := a.Claim(ctx, ClaimRequest{Asset: store.Asset(what), Task: "t", PID: pid, Peer: Peer{PID: pid}})
			wantErr(t, err, context.Canceled)
			if list := a.Claims(0); !left || len(list) != 0 {
				t.Errorf("left: %v; held are %+v", left, list)
			}
			got, err := b.Claim(t.Context(), ClaimRequest{Asset: store.Asset(what), Task: "t", Wait: patience, Heartbeat: time.Minute, Peer: Peer{UID: agent}})
			if err != nil || got.Claim == nil {
				t.Fatalf("the asset is not free: %v", err)
			}
			a.Drain()
		})
	}
}

// TestF30_WhatBeganAMomentAgoIsNotTakenUp: this run claims an asset while it decides about an earlier run's claim on it, which is
// lost; the new one is not touched, and is what the next run takes up.
func TestF30_WhatBeganAMomentAgoIsNotTakenUp(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	folder := t.TempDir()
	pid, _ := child(t)
	e, stop := f.run(folder)
	old := byProcess(t, e, "moment", pid)
	stop()
	for range 3 {
		letGo(t, e, "moment")
		e = f.frozen("host-a", func(c *Config) { c.StateDir = folder })
		e.Start()
		got, err := e.Claim(t.Context(), ClaimRequest{Asset: "moment", Task: "t", PID: pid, Peer: Peer{PID: pid}})
		<-e.Restored()
		if err != nil || got.Claim == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		if v, err := e.GetClaim(old.ID, 0); err != nil || v.Status != Lost || v.Reason != ReasonTaken && v.Reason != ReasonExpired {
			t.Errorf("the earlier run's claim is %+v, %v", v, err)
		}
		if v, err := e.Heartbeat(t.Context(), got.Claim.ID, 0); err != nil || v.Token != got.Claim.Token {
			t.Errorf("the new claim is %+v, %v", v, err)
		}
		if list := e.Claims(0); len(list) != 1 {
			t.Errorf("held are %+v", list)
		}
		old = got.Claim
		if err := e.Stop(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
