// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
)

// TestAFailoverThatIsOverInTimeCostsNoClaim: the locks are on the replica, and the claims are written under afterwards.
func TestAFailoverThatIsOverInTimeCostsNoClaim(t *testing.T) {
	t.Parallel()
	f, set := behindSentinel(t)
	e := f.host("host-a")
	var claims []*Claim
	for i := range 20 {
		c, _ := claimed(t, e, fmt.Sprint("kept-", i), "t")
		claims = append(claims, c)
	}
	caughtUp(t, set.Master, set.Replica)
	set.Failover()
	eventually(t, "the new master takes writes", func() bool { return f.client.Set(t.Context(), "probe", 1, 0).Err() == nil })
	for _, c := range claims {
		if _, err := step(t, e, c, "online", store.AssetOnline, ""); err != nil {
			t.Errorf("%s: %v", c.Ticket, err)
		}
	}
}

// TestAMasterThatForgetsEmptiesItsReplicas: started again without a file, before anyone fails over, it is copied as it is. That is told.
func TestAMasterThatForgetsEmptiesItsReplicas(t *testing.T) {
	t.Parallel()
	f, set := behindSentinel(t)
	e := f.frozen("host-a")
	c, _ := claimed(t, e, "forgotten", "t")
	look(t, e)
	caughtUp(t, set.Master, set.Replica)
	set.Master.Restart()
	replica := set.Replica.Client()
	eventually(t, "the replica is empty, too", func() bool { return replica.Exists(t.Context(), e.store.Keys.Grant("forgotten")).Val() == 0 })
	eventually(t, "the loss is an alarm", func() bool {
		_ = e.lookout.Look(t.Context())
		return slices.Contains(alarmed(e), lookout.AlarmStoreReset)
	})
	_, err := step(t, e, c, "online", store.AssetOnline, "")
	wantErr(t, err, ErrStaleToken)
}
