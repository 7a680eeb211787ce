// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// TestG3_WhatALossOfDataLeaves: every claim that Redis lost is told with its reason, tokens go on growing, and alarms, metrics and audit tell
// of the loss.
func TestG3_WhatALossOfDataLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		before func(t *testing.T, r *redis.Client) // before the claims
		lose   func(t *testing.T, s *redistest.Server, r *redis.Client)
		alarm  string
		metric string
		reason []Reason
	}{
		"flushed": {
			lose:  func(t *testing.T, _ *redistest.Server, r *redis.Client) { set(t, r, "flushall") },
			alarm: lookout.AlarmStoreReset, metric: "picket_store_resets_total", reason: []Reason{ReasonStoreReset},
		},
		"restarted empty": {
			lose:  func(_ *testing.T, s *redistest.Server, _ *redis.Client) { s.Restart() },
			alarm: lookout.AlarmStoreReset, metric: "picket_store_resets_total", reason: []Reason{ReasonStoreReset},
		},
		"older dump": {
			before: func(t *testing.T, r *redis.Client) { set(t, r, "save") },
			lose:   func(_ *testing.T, s *redistest.Server, _ *redis.Client) { s.Restart() },
			alarm:  lookout.AlarmStoreOlder, metric: "picket_store_resets_total", reason: []Reason{ReasonStoreReset, ReasonExpired, ReasonTaken},
		},
		"evicted": {
			lose: func(t *testing.T, _ *redistest.Server, r *redis.Client) {
				set(t, r, "config", "set", "maxmemory-policy", "allkeys-random")
				set(t, r, "config", "set", "maxmemory", 1)
				eventually(t, "all is evicted", func() bool { _ = r.Set(t.Context(), "x", 1, 0).Err(); return r.DBSize(t.Context()).Val() <= 1 })
				set(t, r, "config", "set", "maxmemory", 0)
			},
			alarm: lookout.AlarmStoreReset, metric: "picket_store_resets_total", reason: []Reason{ReasonStoreReset},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, server := setup(t, c.args...)
			r := server.Client()
			told := &auditLog{}
			e := f.host("host-a", func(c *Config) { short(c); c.Audit = told.add })
			old, _ := claimed(t, e, "kept", "t0")
			if err := e.Release(t.Context(), old.ID, agent); err != nil {
				t.Fatal(err)
			}
			look(t, e)
			if c.before != nil {
				c.before(t, r)
			}
			var held []*Claim
			for _, asset := range []string{"kept", "new"} {
				k, _ := claimed(t, e, asset, "t")
				if _, err := step(t, e, k, "online", store.AssetOnline, `{"a":1}`); err != nil {
					t.Fatal(err)
				}
				held = append(held, k)
			}
			look(t, e)
			c.lose(t, server, r)
			for _, k := range held {
				v, err := e.GetClaim(k.ID, agent)
				for v.Status == Held && err == nil {
					v, err = e.WatchClaim(t.Context(), k.ID, agent, shortTTL)
				}
				if err != nil || !slices.Contains(c.reason, v.Reason) {
					t.Errorf("the claim on %s ended as %+v, %v", k.Ticket, v, err)
				}
				if n, _ := claimed(t, e, string(k.Ticket.Asset), "t"); n.Token <= k.Token {
					t.Errorf("the token after %d is %d", k.Token, n.Token)
				}
				lost := func(a audit.Event) bool {
					return a.Kind == audit.Lost && a.Token == k.Token && a.Reason == string(v.Reason)
				}
				eventually(t, "the audit has the loss of the claim", func() bool {
					told.mu.Lock()
					defer told.mu.Unlock()
					return slices.ContainsFunc(told.got, lost)
				})
			}
			eventually(t, "the alarm", func() bool { look(t, e); return slices.Contains(alarmed(e), c.alarm) })
			if n := metric(t, e, c.metric); n == 0 {
				t.Error("no metric counts it")
			}
			told.mu.Lock()
			defer told.mu.Unlock()
			if !slices.ContainsFunc(told.got, func(a audit.Event) bool { return a.Kind == audit.Alarm && strings.HasPrefix(a.Reason, c.alarm+": ") }) {
				t.Error("the audit has no alarm")
			}
		})
	}
}
