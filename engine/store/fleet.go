// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var fleetScript = newScript("fleet")

// fleetPage is of how many daemons the rows are read at a time.
const fleetPage = 200

// About is what a daemon tells the fleet of itself, with a sign of life.
type About struct {
	Version   string    `json:"version"`
	Layout    string    `json:"layout"` // that it writes
	Since     time.Time `json:"since"`
	Channels  string    `json:"channels"` // as Daemon has them
	LockTTLMS int64     `json:"lock_ttl_ms"`
	Claims    int       `json:"claims"`  // held
	Pending   int       `json:"pending"` // notifications that its outbox has to send
	Parked    int       `json:"parked"`  // and that wait for a person
	Dead      int       `json:"dead"`
	Warnings  []Warning `json:"warnings"`
}

// Warning is what a person should look at.
type Warning struct {
	Name    string     `json:"name"`
	Alarm   bool       `json:"alarm"`
	Message string     `json:"message"`
	At      *time.Time `json:"at"`
}

// Member is a daemon of the fleet as Redis knows it.
type Member struct {
	Silent
	About         // as it told last
	Host   string // its label
	Lives  bool   // its sign has not run out; for who knows how long that is
	Left   bool   // it is gone, and answers for nothing
	Quiet  time.Duration
	Signed time.Time // its last sign; zero if none is known. Quiet is since then
}

// Fleet are the daemons that there are, those that left lately too. Errors: ErrUnavailable.
func (s *Store) Fleet(ctx context.Context) ([]Member, error) {
	v, err := fleetScript.Run(ctx, s.c.Redis, []string{s.Keys.Signs(), s.Keys.Left()}).Slice()
	if err != nil {
		return nil, Unavailable(err)
	}
	now := number(textsOf(v[:1])[0])
	members, left := []Member{}, map[string]int64{}
	add := func(m Member, at int64) {
		if at > 0 {
			m.Signed, m.Quiet = time.UnixMilli(at).UTC(), max(0, time.Duration(now-at)*time.Millisecond)
		}
		members = append(members, m)
	}
	for _, one := range silents(v[2]) {
		left[one.ID] = number(one.At)
	}
	for _, one := range silents(v[1]) {
		if one.ID != Offered {
			add(Member{Silent: one}, max(number(one.At), left[one.ID])) // the walk may know it again
		}
		delete(left, one.ID)
	}
	for id, at := range left {
		add(Member{Silent: Silent{id, strconv.FormatInt(at, 10)}, Left: true}, at)
	}
	for page := range slices.Chunk(members, fleetPage) {
		if err := s.rows(ctx, page); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// rows reads what is told of these daemons.
func (s *Store) rows(ctx context.Context, members []Member) error {
	rows := make([]*redis.SliceCmd, len(members))
	_, err := s.c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, m := range members {
			rows[i] = p.HMGet(ctx, s.Keys.Host(m.ID), "label", "row")
		}
		return nil
	})
	if err != nil {
		return Unavailable(err)
	}
	for i, row := range rows {
		text := textsOf(row.Val())
		members[i].Host = text[0]
		if err := json.Unmarshal([]byte(text[1]), &members[i].About); err != nil { // it told nothing, or in another form
			members[i].About = About{}
		}
	}
	return nil
}
