// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Stand is how a ticket stands, in short; whatever an index is built on. State is empty for a ticket that is not there.
type Stand struct {
	State     State
	Run       int64
	Revision  int64
	UpdatedAt time.Time
	Failed    bool  // a failure is recorded, or it is FAILED
	HighRisk  *bool // nil: this run has not assessed it
	Damaged   bool  // something that it recorded is missing, as far as that was looked at
}

// standing are how the ticket stands that a writing script was about, and others of the asset that it wrote. Its reply has the ticket
// itself, or a part, which tells nothing yet, or ends with how it stands; the stands are taken off the reply.
func (r *reply) standing(id TicketID) map[TicketID]Stand {
	if len(r.rest) == 0 {
		return nil
	}
	list, _ := r.rest[len(r.rest)-1].([]any)
	r.rest = r.rest[:len(r.rest)-1]
	stands := make(map[TicketID]Stand, len(list))
	for i := range list {
		one := reply{rest: list}.list(i)
		task := reply{rest: one}.text(0)
		if s := decodeStand(reply{rest: one}.texts(1)); s.State != "" {
			stands[TicketID{id.Asset, task}] = s
		}
	}
	if h := r.hash(0); !h.isPart() && h["state"] != "" {
		stands[id] = h.stand()
	}
	return stands
}

// part marks what is only the part of a ticket that a write changed, as lua/common.lua does.
const part = "partial"

func (h Hash) isPart() bool { return h[part] != "" }

// with is the ticket after a write that changed a part of it; nil if it was written otherwise since it was known.
func (p Packed) with(changed Hash) Hash {
	all := p.hash()
	before, after := number(all["revision"]), number(changed["revision"])
	if before == 0 || after != before+1 {
		return nil
	}
	for field, value := range changed {
		if all[field] = value; value == "" || field == part {
			delete(all, field)
		}
	}
	return all
}

// standFields are the fields of a ticket that say how it stands; stand in lua/common.lua reads the same.
var standFields = []string{"state", "run", "revision", "updated_at", "failure_step", "high_risk"}

func (h Hash) stand() Stand {
	values := make([]string, len(standFields))
	for i, name := range standFields {
		values[i] = h[name]
	}
	return decodeStand(values)
}

// decodeStand decodes the values of standFields.
func decodeStand(f []string) Stand {
	if len(f) != 6 || f[0] == "" {
		return Stand{}
	}
	high := risk(f[5])
	return Stand{
		State: State(f[0]), Run: number(f[1]), Revision: number(f[2]), UpdatedAt: millis(f[3]),
		Failed: f[4] != "" || State(f[0]) == Failed, HighRisk: high, Damaged: high == nil && f[5] != "",
	}
}

// standing is the question how a ticket stands, and whether its log is as long as it says.
type standing struct {
	names  []string
	fields *redis.SliceCmd
	log    *redis.IntCmd
}

// askStanding asks for the ticket at a key, with more of its fields.
func askStanding(ctx context.Context, p redis.Pipeliner, key string, more ...string) standing {
	names := slices.Concat(standFields, recordFields(), more)
	return standing{names, p.HMGet(ctx, key, names...), p.LLen(ctx, logOf(key))}
}

func (a standing) answer() (Hash, Stand) {
	h := zip(a.names, a.fields.Val())
	is := h.stand()
	is.Damaged = is.Damaged || is.State != "" && h.outlives(a.log.Val())
	return h, is
}

// risk is the ticket's field high_risk. What is neither 0 nor 1 is damaged, and says nothing: least of all that the risk is not high.
func risk(field string) *bool {
	high := field == "1"
	if !high && field != "0" {
		return nil
	}
	return &high
}
