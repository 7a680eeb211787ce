// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package lookout

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/engine/store"
)

// anyBox is an outbox that can be written.
type anyBox struct{}

func (anyBox) Enlist(string) ([]string, error) { return nil, nil }
func (anyBox) Writable() error                 { return nil }

// judge is a lookout beside a dead daemon, and its clock.
type judge struct {
	*Lookout
	redis *redis.Client
	now   time.Duration
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	c := redistest.Start(t).Client()
	j := &judge{Lookout: on(t, c), redis: c, now: time.Hour}
	j.c.Outbox, j.c.Now = anyBox{}, func() time.Duration { return j.now }
	j.put(t, "dead", time.Hour)
	return j
}

// put has a daemon have signed so long ago.
func (j *judge) put(t *testing.T, id string, ago time.Duration) {
	t.Helper()
	score := float64(time.Now().Add(-ago).UnixMilli())
	if err := j.redis.ZAdd(t.Context(), j.store.Keys.Signs(), redis.Z{Score: score, Member: id}).Err(); err != nil {
		t.Fatal(err)
	}
}

// redisGoesOn lets Redis' clock go on: all that stands there, and what this daemon knows of it, becomes older.
func (j *judge) redisGoesOn(t *testing.T, by time.Duration) {
	t.Helper()
	s := &j.signs
	s.stood -= by
	if s.at != "" {
		s.at = strconv.FormatInt(int64(milliseconds(s.at)-by)/int64(time.Millisecond), 10)
	}
	for _, z := range j.redis.ZRangeWithScores(t.Context(), j.store.Keys.Signs(), 0, -1).Val() {
		id, _ := z.Member.(string)
		if err := j.redis.ZIncrBy(t.Context(), j.store.Keys.Signs(), -float64(by.Milliseconds()), id).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// sign signs when both clocks have gone on, and says of whom it is told.
func (j *judge) sign(t *testing.T, after time.Duration) (told []store.Silent) {
	t.Helper()
	j.now += after
	j.redisGoesOn(t, after)
	j.redis.Del(t.Context(), "picket:fleet:{fleet}:turns")
	j.signs.asked = true
	if err := j.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case told = <-j.overdue:
	default:
	}
	if len(told) > 0 && !j.Steady() {
		t.Error("one that is not steady is told who is overdue")
	}
	return told
}

// TestG9_WhoMayJudge: one whose own signs were written without a break for long enough, as far as Redis and its clock show.
func TestG9_WhoMayJudge(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	for _, c := range []struct {
		name   string
		before func()
		first  time.Duration // until the first sign after that
		wait   time.Duration // from then on until it may
	}{
		{"who begins", func() {}, 0, j.Pace.Steady},
		{"who goes on", func() {}, j.Pace.Every, 0},
		{"when one sign was not written", func() {}, 2 * j.Pace.Every, j.Pace.Missed},
		{"when the own sign ran out", func() {}, j.Pace.Life, j.Pace.Steady},
		{"when all signs were lost", func() { j.redis.Del(t.Context(), j.store.Keys.Signs()); j.put(t, "dead", time.Hour) }, j.Pace.Every, j.Pace.Steady},
		{"when Redis fell back", func() { j.put(t, "d", 2*j.Pace.Every) }, j.Pace.Every, j.Pace.Steady},
		{"when Redis' clock was set forward", func() { j.redisGoesOn(t, j.Pace.Missed+time.Second) }, j.Pace.Every, j.Pace.Steady},
		{"when Redis' clock was set back", func() { j.redisGoesOn(t, -j.Pace.Missed-time.Second) }, j.Pace.Every, j.Pace.Steady},
	} {
		c.before()
		told := j.sign(t, c.first)
		waited := time.Duration(0)
		for ; len(told) == 0 && waited < time.Minute; waited += j.Pace.Every {
			told = j.sign(t, j.Pace.Every)
		}
		if waited != c.wait {
			t.Errorf("%s: it is told after %s, want %s", c.name, waited, c.wait)
		}
	}
}

// TestG9_WhoIsMissedHasTimeToSign: nobody is told of before its sign has run out, and was missed for long enough then.
func TestG9_WhoIsMissedHasTimeToSign(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	for range 8 {
		j.sign(t, j.Pace.Every)
	}
	j.put(t, "dead", j.Pace.Every)
	silent := j.Pace.Every
	for ; len(j.sign(t, j.Pace.Every)) == 0 && silent < time.Minute; silent += j.Pace.Every {
	}
	if silent += j.Pace.Every; silent < j.Pace.Life+j.Pace.Missed {
		t.Errorf("it is told of after %s", silent)
	}
}
