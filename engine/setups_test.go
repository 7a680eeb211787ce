// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
)

func TestAFailoverThatIsOverInTimeCostsNoClaim(t *testing.T) {
	onOwn(t, []string{"cluster", "sentinel"}, overInTime)
}

// overInTime: the master never comes back. The locks are on its replica, where they are renewed, and the claims are written under.
func overInTime(t *testing.T, f *fleet, o *own) {
	urgent := o.connect(time.Second)
	e := f.host("host-a", short, func(c *Config) { c.Urgent = urgent })
	used, _ := claimed(t, e, "used", "t") // so that each connection knows the masters from before
	if err := e.Release(t.Context(), used.ID, agent); err != nil {
		t.Fatal(err)
	}
	var claims []*Claim
	for i := range 20 {
		c, _ := claimed(t, e, fmt.Sprint("kept-", i), "t")
		claims = append(claims, c)
	}
	for _, c := range claims {
		o.caughtUp(e, c.Ticket.Asset)
	}
	o.lose(e, claims[0].Ticket.Asset)
	time.Sleep(shortTTL)
	for _, c := range claims {
		if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
			t.Errorf("%s: %v", c.Ticket, err)
		}
	}
}

func TestAMasterThatForgetsEmptiesItsReplicas(t *testing.T) { onOwn(t, replicated, forgets) }

// forgets: a master that is started again without a file, before anyone fails over, is copied as it is. That is told.
func forgets(t *testing.T, f *fleet, o *own) {
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "forgotten", "t")
	look(t, e)
	o.caughtUp(e, "forgotten")
	i := o.at(o.beside(e, "forgotten"))
	o.masters[i].Restart()
	replica := o.replicas[i].Client()
	eventually(t, "the replica is empty, too", func() bool {
		n, err := replica.DBSize(t.Context()).Result()
		return n == 0 && err == nil
	})
	eventually(t, "the loss is an alarm", func() bool {
		_ = e.lookout.Look(t.Context())
		return slices.Contains(alarmed(e), lookout.AlarmStoreReset)
	})
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
}
