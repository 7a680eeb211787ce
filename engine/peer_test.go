// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestMappedUsersShareOneLimit: whoever may map 65,536 users onto itself has the claims of one.
func TestMappedUsersShareOneLimit(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("one", func(c *Config) { c.MaxPerUID = 2 })
	claim := func(asset string, p Peer) error {
		r := ask(asset, "t")
		r.Peer = p
		_, err := e.Claim(t.Context(), r)
		return err
	}
	for i, p := range []Peer{{UID: 100_000, Foreign: true, Mapped: true}, {UID: 100_001, Foreign: true, Mapped: true}} {
		if err := claim(string(rune('a'+i)), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := claim("c", Peer{UID: 165_000, Foreign: true, Mapped: true}); !errors.Is(err, ErrTooManyClaims) {
		t.Errorf("a third claim from another user namespace: %v", err)
	}
	if err := claim("c", Peer{UID: agent}); err != nil {
		t.Errorf("a user of this host: %v", err)
	}
}

// TestEndedClaimsAreRememberedPerUser: whoever ends many claims forgets its own, and nobody else's.
func TestEndedClaimsAreRememberedPerUser(t *testing.T) {
	t.Parallel()
	r := newRoster(newMetrics(nil).held)
	end := func(account uint32, id string, now time.Duration) {
		r.recall(&claim{id: id, owner: account, account: account}, now)
	}
	end(1000, "good", 0)
	if c, err := r.get("good", 0); err != nil || c.status != Lost {
		t.Errorf("an ended claim is %v, %v", c, err)
	}
	for i := range rememberMost + 1 {
		end(1001, strconv.Itoa(i), time.Minute)
	}
	for id, known := range map[string]bool{"good": true, "0": false, "1": true} {
		if _, err := r.get(id, 0); (err == nil) != known {
			t.Errorf("claim %s: %v, want it known: %t", id, err, known)
		}
	}
	r.forget(rememberFor + time.Second)
	if _, err := r.get("good", 0); err == nil || len(r.past) != 1 {
		t.Errorf("after %s a claim is still known (%v), of %d users", rememberFor, err, len(r.past))
	}
}

// TestJournalForgetsWhatEndedBeforeManyOthers, but not a claim of which it is not known what became of its end.
func TestJournalForgetsWhatEndedBeforeManyOthers(t *testing.T) {
	t.Parallel()
	r := newRoster(newMetrics(nil).held)
	var forgotten []string
	for i := range journalMost + 3 {
		c := &claim{id: strconv.Itoa(i), status: Lost, unanswered: i == 1}
		forgotten = append(forgotten, r.rememberLocked(c, 0)...)
	}
	if want := []string{"0", "2"}; !slices.Equal(forgotten, want) {
		t.Errorf("the journal forgets %v, want %v", forgotten, want)
	}
	open, err := r.get("1", 0)
	if err != nil {
		t.Fatal(err)
	}
	open.unanswered, open.status, open.reason = false, Released, ReasonReleased
	r.resolved(open)
	if c, err := r.get("1", 0); err != nil || c == open || c.status != Released {
		t.Errorf("the claim whose end is known is %+v, %v", c, err)
	}
}
