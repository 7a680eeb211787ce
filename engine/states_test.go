// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/picketd/picket/engine/store"
)

func TestTheStatesOfManyTicketsAreOneQuestion(t *testing.T) { everywhere(t, manyStates) }

func manyStates(t *testing.T, s *shared) {
	f := s.fleet(t)
	e := f.frozen("a")
	ids := make([]store.TicketID, 1000)
	for i := range ids {
		ids[i] = store.ID(store.Asset(fmt.Sprint("asset-", i)), "t")
	}
	c, _ := claimed(t, e, "asset-7", "t")
	if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Set(t.Context(), e.store.Keys.Ticket(ids[8]), "damaged", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	states, err := e.States(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range states {
		if is := got.State != ""; is != (i == 7) || is && (got.State != store.AssetOnline || got.Run != 1 || time.Since(got.UpdatedAt) > time.Hour) {
			t.Errorf("%s is %+v", ids[i], got)
		}
	}
}

// TestStatesWithoutRedisAreNone: who is not answered must not take tickets for missing.
func TestStatesWithoutRedisAreNone(t *testing.T) {
	t.Parallel()
	f, server := setup(t)
	e := f.frozen("a")
	server.Kill()
	if _, err := e.States(t.Context(), []store.TicketID{store.ID("a", "t")}); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}
