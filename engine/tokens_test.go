// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func init() { contract["F12 a token that goes back is an alarm"] = tokenBackIsAnAlarm }

// tokenBackIsAnAlarm writes an older grant, as a failover brings it.
func tokenBackIsAnAlarm(t *testing.T, s *store) {
	e := s.fleet(t).frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	id := TicketID{"web-01", "t1"}
	for range 3 {
		state(t, e, id)
	}
	wantAlarms(t, e)
	old := c.Token - 10
	if err := s.Client.HSet(t.Context(), e.keys.grant("web-01"), "token", old, "nonce", "older").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, AlarmTokenBack)
	state(t, e, id)
	if n := testutil.ToFloat64(e.metrics.back); n != 1 {
		t.Errorf("it was counted %v times", n)
	}
	letGo(t, e, "web-01")
	again, _ := claimed(t, e, "web-01", "t1")
	if again.Token <= c.Token {
		t.Errorf("after token %d comes %d", c.Token, again.Token)
	}
}

// TestF12_ARedisThatFallsBackIsAnAlarm: the server comes back with what it had on disk, which is older than the claim.
func TestF12_ARedisThatFallsBackIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e, other := f.frozen("a"), f.frozen("b")
	look(t, e)
	first, _ := claimed(t, e, "web-01", "t1")
	if err := f.client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(t.Context(), first.ID, agent); err != nil {
		t.Fatal(err)
	}
	second, _ := claimed(t, e, "web-01", "t2")
	server.Restart()
	_, err := step(t, e, second, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	look(t, e)
	wantAlarms(t, e, AlarmStoreOlder, AlarmTokenBack) // and not that all data are lost
	look(t, other)
	wantAlarms(t, other)
}

func TestF12_AGrantThatIsGoneIsAnAlarm(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	if err := f.client.Del(t.Context(), e.keys.grant("web-01")).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, AlarmTokenBack)
}

// TestTokensForgetTheOldest: two generations, so that memory is bounded.
func TestTokensForgetTheOldest(t *testing.T) {
	t.Parallel()
	var known tokens
	for i := range 3 * tokensKept {
		known.found(Asset("a"+string(rune('0'+i%10))+time.Duration(i).String()), 0, 7)
		known.found("busy", 7, int64(8+i))
	}
	if n := len(known.young) + len(known.old); n > 2*tokensKept {
		t.Errorf("%d are remembered", n)
	}
	if !known.found("busy", known.of("busy"), 1) || known.of("busy") != 1 {
		t.Error("a token that went back was not noticed")
	}
	if known.found("busy", 9, 1) {
		t.Error("an answer that was asked for before the newest was known counts as going back")
	}
}
