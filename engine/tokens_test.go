// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"testing"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

func TestF12_ATokenThatGoesBackIsAnAlarm(t *testing.T) { everywhere(t, tokenBackIsAnAlarm) }

// tokenBackIsAnAlarm writes an older grant, as a failover brings it.
func tokenBackIsAnAlarm(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	id := store.ID("web-01", "t1")
	for range 3 {
		state(t, e, id)
	}
	wantAlarms(t, e)
	old := c.Token - 10
	if err := s.Client.HSet(t.Context(), e.store.Keys.Grant("web-01"), "token", old, "nonce", "older").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, lookout.AlarmTokenBack)
	state(t, e, id)
	if n := metric(t, e, "picket_tokens_back_total"); n != 1 {
		t.Errorf("it was counted %v times", n)
	}
	letGo(t, e, "web-01")
	again, _ := claimed(t, e, "web-01", "t1")
	if again.Token <= c.Token {
		t.Errorf("after token %d comes %d", c.Token, again.Token)
	}
}

func TestF12_ARedisThatFallsBackIsAnAlarm(t *testing.T) {
	onOwn(t, redistest.Kinds, fallsBackToItsDump)
}

// fallsBackToItsDump: a master comes back with what it had on disk, which is older than the claim; its replicas copy that.
func fallsBackToItsDump(t *testing.T, f *fleet, o *own) {
	e, other := f.frozen("a"), f.frozen("b")
	look(t, e)
	first, _ := claimed(t, e, "web-01", "t1")
	master := o.masters[o.at(o.beside(e, "web-01"))]
	if err := master.Client().Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.Release(t.Context(), first.ID, agent); err != nil {
		t.Fatal(err)
	}
	second, _ := claimed(t, e, "web-01", "t2")
	master.Restart()
	o.takesWrites(e, "web-01")
	_, err := step(t, e, second, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	look(t, e)
	wantAlarms(t, e, lookout.AlarmStoreOlder, lookout.AlarmTokenBack) // and not that all data are lost
	look(t, other)
	wantAlarms(t, other)
}

func TestF12_AGrantThatIsGoneIsAnAlarm(t *testing.T) { everywhere(t, grantIsGone) }

func grantIsGone(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("a")
	c, _ := claimed(t, e, "web-01", "t1")
	if err := s.Client.Del(t.Context(), e.store.Keys.Grant("web-01")).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
	wantAlarms(t, e, lookout.AlarmTokenBack)
}

// TestTokensForgetTheOldest: two generations, so that memory is bounded.
