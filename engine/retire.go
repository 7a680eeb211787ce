// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"context"
	"slices"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/engine/store"
)

// Retire has a daemon leave that is gone for good, in the name of an administrator, and answers how it was known. What it answered for
// is taken over by this one, or offered to the others. A repeat goes on where a call broke off. If the daemon comes back, it signs
// anew. Errors: ErrHostNotFound, ErrHostAlive, ErrHostUnsure, ErrStoreUnavailable.
func (e *Engine) Retire(ctx context.Context, id, by, reason string) (store.Member, delivery.Retired, error) {
	members, err := e.Fleet(ctx)
	if err != nil {
		return store.Member{}, delivery.Retired{}, err
	}
	i := slices.IndexFunc(members, func(m store.Member) bool { return m.ID == id })
	switch {
	case i < 0:
		return store.Member{}, delivery.Retired{}, ErrHostNotFound
	case !members[i].Signed.IsZero() && members[i].Quiet < e.lookout.Pace.Life+e.lookout.Pace.Missed:
		return store.Member{}, delivery.Retired{}, ErrHostAlive
	case !e.lookout.Steady():
		return store.Member{}, delivery.Retired{}, ErrHostUnsure
	}
	m := members[i]
	bounded, cancel := e.bounded(ctx)
	defer cancel()
	r, err := e.courier.Retire(bounded, m.ID)
	if err != nil {
		return m, r, err
	}
	if left, err := e.store.Forget(bounded, m.Silent); err != nil {
		return m, r, err
	} else if !left {
		return m, r, ErrHostAlive // since it was looked at
	}
	e.store.Tell(ctx, audit.Event{Kind: audit.Retired, Agent: by, Reason: m.Host + " (" + m.ID + "): " + reason})
	e.log.Warn("host retired", "host", m.Host, "daemon", m.ID, "by", by, "reason", reason)
	return m, r, nil
}
