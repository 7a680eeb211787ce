// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/engine/store"
)

func TestHighRisksAreNewAgainstTheTicketBefore(t *testing.T) { everywhere(t, comparedRisks) }

func comparedRisks(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	assess := func(asset, task string, risky bool) {
		t.Helper()
		c, _ := claimed(t, e, asset, task)
		advance(t, e, c, store.VulnCheckDone)
		facts := fmt.Sprintf(`{"high_risk": %v}`, risky)
		if _, err := e.Step(t.Context(), c.ID, agent, assessed(facts)); err != nil {
			t.Fatal(err)
		}
		later := s.Client.Time(t.Context()).Val().UnixMilli()
		await(t, "another ms", func() bool { return s.Client.Time(t.Context()).Val().UnixMilli() > later })
	}
	offline := func(asset, task string) {
		t.Helper()
		c, _ := claimed(t, e, asset, task)
		if err := second(step(t, e, c, "online", store.AssetOffline, "")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
			t.Fatal(err)
		}
	}
	assess("known", "w1", true)
	assess("was well", "w1", false)
	assess("was off", "w1", true)
	offline("was off", "w2")
	assess("well now", "w1", true)
	for _, asset := range []string{"known", "was well", "was off", "first"} {
		assess(asset, "w3", true)
	}
	assess("well now", "w3", false)
	assess("known", "w4", false) // later, and asked about w3
	if err := second(e.Tickets(t.Context(), store.TicketQuery{Limit: 1})); err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string][2]int64{"w1": {3, 3}, "w2": {0, 0}, "w3": {2, 4}, "w4": {0, 0}} {
		if fresh, compared, err := e.NewRisks(t.Context(), task); err != nil || [2]int64{fresh, compared} != want {
			t.Errorf("%s: %d of %d are new, %v, want %v", task, fresh, compared, err, want)
		}
	}
}
