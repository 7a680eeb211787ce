// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/engine/store"
)

func TestF13_LocksThatAllRunOutAtOnceLetNobodyWriteTwice(t *testing.T) { everywhere(t, allRunOut) }

// allRunOut: what a step of Redis' clock does to locks.
func allRunOut(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.frozen("a"), f.frozen("b")
	stopClock(a)
	var held []*Claim
	for i := range 20 {
		c, _ := claimed(t, a, fmt.Sprint("web-", i), "t1")
		held = append(held, c)
	}
	for _, c := range held {
		letGo(t, a, c.Ticket.Asset)
	}
	for _, c := range held {
		next, _ := claimed(t, b, string(c.Ticket.Asset), "t1")
		if next.Token <= c.Token {
			t.Errorf("after token %d comes %d", c.Token, next.Token)
		}
		_, err := step(t, a, c, "online", store.AssetOffline, "")
		wantErr(t, err, ErrStaleToken)
		if _, err := step(t, b, next, "online", store.AssetOnline, ""); err != nil {
			t.Error(err)
		}
		if got := state(t, b, c.Ticket); got != store.AssetOnline {
			t.Errorf("%s is %s", c.Ticket, got)
		}
	}
	wantAlarms(t, a)
	wantAlarms(t, b)
}
