// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// fetchMost is how many members of a set are read at a time, once the first are not enough.
const fetchMost = 1000

// candidates are the tickets among which a listing finds those that it was asked for: members of one set of the index, or of
// several, in one order.
type candidates struct {
	s     *Store
	q     TicketQuery
	sets  []*sortedSet
	at    position // of the last that was passed
	until time.Time
	now   time.Time // by Redis' clock
	times map[string]time.Duration
	seen  map[string]bool // in more sets than one, while it is moved
}

// candidate is one of them.
type candidate struct {
	id TicketID
	position
	set string // of the index; empty: it was not found in it
}

// sortedSet is read by falling score, then falling member, as Redis sorts it.
type sortedSet struct {
	name, key string
	at        position // of the last that was read
	offset    int64    // of those with this score that were read
	some      []redis.Z
	end       bool
}

// states are all that a ticket can be in.
func states() []State { return append(openStates(), Finished, Failed) }

// setNames are the sets of the index in one of which each ticket is that is asked for: as small ones as there are. What is damaged is in
// no set of a state.
func (q TicketQuery) setNames() (names []string) {
	if q.Task != "" {
		names = []string{setReports}
	}
	some := states()
	switch {
	case q.Damaged:
		return append(names, setDamaged)
	case q.State != "" && q.State != Finished:
		some = []State{q.State}
	case q.Failed:
		return append(names, setFailed)
	case q.Held:
		some = without(some, Finished)
	case q.Stuck:
		some = openStates()
	case q.HighRisk:
		return append(names, setHighRisk)
	case q.State == Finished:
		some = []State{Finished}
	}
	for _, state := range some {
		names = append(names, string(state))
	}
	return append(names, setDamaged)
}

// open begins at the place where the listing goes on.
func (c *candidates) open() {
	c.seen, c.times = map[string]bool{}, map[string]time.Duration{}
	from := c.at
	if from.member == "" {
		from.score = math.Inf(1)
		if c.q.Stuck && c.q.Asset == "" {
			from.score = float64(c.now.Add(-stuckLeast).UnixMilli())
		}
	}
	if c.q.Asset != "" {
		c.sets = []*sortedSet{{key: c.s.Keys.Tickets(c.q.Asset), at: from}}
		return
	}
	for _, name := range c.q.setNames() {
		c.sets = append(c.sets, &sortedSet{name: name, key: c.s.Keys.Index(cmp.Or(c.q.Task, all), name), at: from})
	}
}

func (c *candidates) ended() bool {
	for _, set := range c.sets {
		if !set.end || len(set.some) > 0 {
			return false
		}
	}
	return true
}

// next are up to n candidates; fewer when there are no more, or the call's time is over.
func (c *candidates) next(ctx context.Context, n int) ([]candidate, error) {
	var some []candidate
	for fetch := int64(max(n, listBatch)); len(some) < n && !c.ended() && time.Now().Before(c.until); fetch = fetchMost {
		if err := c.fill(ctx, fetch); err != nil {
			return nil, err
		}
		for len(some) < n {
			set := c.first()
			if set == nil {
				break
			}
			z := set.some[0]
			set.some = set.some[1:]
			c.at = position{z.Score, z.Member.(string)}
			if id, ok := c.identify(c.at.member); ok {
				some = append(some, candidate{id, c.at, set.name})
			}
		}
	}
	return some, nil
}

// first is the set with the foremost member; nil when one has to be read on before that is known.
func (c *candidates) first() (first *sortedSet) {
	for _, set := range c.sets {
		switch {
		case len(set.some) == 0 && !set.end:
			return nil
		case len(set.some) > 0 && (first == nil || first.some[0].Score < set.some[0].Score ||
			first.some[0].Score == set.some[0].Score && first.some[0].Member.(string) < set.some[0].Member.(string)):
			first = set
		}
	}
	return first
}

// identify is the ticket that a member is of, if its name is what is asked for, and it was not there before.
func (c *candidates) identify(member string) (id TicketID, ok bool) {
	switch {
	case c.q.Asset != "":
		return TicketID{c.q.Asset, member}, true
	case !strings.HasPrefix(member, c.q.Prefix) || c.seen[member]:
		return id, false
	case c.q.Task != "":
		id = TicketID{Asset(member), c.q.Task}
	default:
		var err error
		if id, err = ParseTicketID(member); err != nil || !strings.HasPrefix(string(id.Asset), c.q.Prefix) {
			return id, false
		}
	}
	if len(c.sets) > 1 && c.seen != nil {
		c.seen[member] = true
	}
	return id, true
}

// fill reads on where nothing is left of a set.
func (c *candidates) fill(ctx context.Context, n int64) error {
	for {
		asked := map[*sortedSet]*redis.ZSliceCmd{}
		pipe := c.s.c.Redis.Pipeline()
		for _, set := range c.sets {
			if len(set.some) == 0 && !set.end {
				asked[set] = pipe.ZRevRangeByScoreWithScores(ctx, set.key, &redis.ZRangeBy{
					Max: bound(set.at.score), Min: bound(float64(c.q.Since.UnixMilli())), Offset: set.offset, Count: n,
				})
			}
		}
		if len(asked) == 0 {
			return nil
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return Unavailable(err)
		}
		for set, answer := range asked {
			set.take(answer.Val(), n)
		}
	}
}

// take takes what was read, without those up to the place where the set was read on.
func (set *sortedSet) take(got []redis.Z, n int64) {
	for _, z := range got {
		if z.Score < set.at.score || set.at.member == "" || z.Member.(string) < set.at.member {
			set.some = append(set.some, z)
		}
	}
	set.end = int64(len(got)) < n
	set.offset += int64(len(got))
	if len(set.some) > 0 {
		last := set.some[len(set.some)-1]
		set.at, set.offset = position{last.Score, last.Member.(string)}, 0
	}
}

// bound is a score as a bound of a range.
func bound(score float64) string {
	if math.IsInf(score, 1) {
		return "+inf"
	}
	return decimal(score)
}

// position is a place in a listing: the score and the member of the ticket before it.
type position struct {
	score  float64
	member string
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(decimal(p.score) + " " + p.member))
}

func parsePosition(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	score, member, ok := strings.Cut(string(raw), " ")
	n, numErr := strconv.ParseFloat(score, 64)
	if err != nil || !ok || numErr != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return position{}, ErrInvalidCursor
	}
	return position{n, member}, nil
}
