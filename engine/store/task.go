// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// rateOver is over which time it is counted how many tickets of a task are settled.
const rateOver = 10 * time.Minute

// Task is how far a task is, over all hosts, as its index says.
type Task struct {
	Name      string
	Total     int64           // its tickets, or the assets of its largest list, if those are more
	Lists     int64           // that hosts have noted for it
	States    map[State]int64 // of its tickets; only those that there are
	Failed    int64           // tickets with a failure recorded, or FAILED
	HighRisk  int64
	Damaged   int64   // tickets that are; none is among States
	PerMinute float64 // tickets that became FINISHED or FAILED within the last 10 minutes, or since it began
	StartedAt time.Time
	UpdatedAt time.Time
}

// TaskPage is some of the tasks that there are. Cursor and Incomplete are as of a TicketPage.
type TaskPage struct {
	Tasks      []Task
	Cursor     string
	Incomplete bool
}

// Tasks lists tasks, the one written to last first. Errors: ErrInvalidCursor, ErrUnavailable.
func (s *Store) Tasks(ctx context.Context, limit int, cursor string) (TaskPage, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	at, err := parsePosition(cursor)
	if err != nil {
		return TaskPage{}, err
	}
	if at.member == "" {
		at.score = math.Inf(1)
	}
	now, incomplete, err := s.indexed(ctx)
	if err != nil {
		return TaskPage{}, err
	}
	all := &sortedSet{key: s.Keys.Tasks(), at: at}
	if err := (&candidates{s: s, sets: []*sortedSet{all}}).fill(ctx, int64(limit)); err != nil {
		return TaskPage{}, err
	}
	some := all.some[:min(len(all.some), limit)]
	page := TaskPage{Tasks: []Task{}, Incomplete: incomplete}
	names := make([]string, len(some))
	for i, z := range some {
		names[i] = z.Member.(string)
	}
	tasks, err := s.count(ctx, now, names)
	if err != nil {
		return TaskPage{}, err
	}
	for i, task := range tasks {
		if task.UpdatedAt = time.UnixMilli(int64(some[i].Score)).UTC(); task.Total > 0 { // else all its tickets have expired
			page.Tasks = append(page.Tasks, task)
		}
	}
	if !all.end {
		last := some[len(some)-1]
		page.Cursor = position{last.Score, last.Member.(string)}.String()
	}
	return page, nil
}

// Task reads how far a task is, and whether tickets may be missing: see TicketPage. Errors: ErrTaskNotFound, ErrUnavailable.
func (s *Store) Task(ctx context.Context, name string) (task Task, incomplete bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	now, incomplete, err := s.indexed(ctx)
	if err != nil {
		return Task{}, false, err
	}
	tasks, err := s.count(ctx, now, []string{name})
	if err != nil {
		return Task{}, false, err
	}
	if task = tasks[0]; task.Total == 0 {
		return Task{}, false, fmt.Errorf("%w: no asset was claimed for it, or it is older than tickets are kept", ErrTaskNotFound)
	}
	score, err := s.c.Redis.ZScore(ctx, s.Keys.Tasks(), name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return Task{}, false, Unavailable(err)
	}
	task.UpdatedAt = time.UnixMilli(int64(score)).UTC()
	return task, incomplete, nil
}

// counting is a task whose counts are asked for.
type counting struct {
	states  map[State]*redis.IntCmd
	failed  *redis.IntCmd
	high    *redis.IntCmd
	damaged *redis.IntCmd
	lists   *redis.StringSliceCmd
	settled []*redis.IntCmd
	oldest  []*redis.StringSliceCmd
	created []*redis.SliceCmd
}

// count reads how far tasks are, all but when they were written to last.
func (s *Store) count(ctx context.Context, now time.Time, names []string) ([]Task, error) {
	asked := make([]counting, len(names))
	for _, ask := range []func(redis.Pipeliner, string, *counting){s.askSizes(ctx), s.askOldest(ctx, now), s.askCreated(ctx)} {
		pipe := s.c.Redis.Pipeline()
		for i, name := range names {
			ask(pipe, name, &asked[i])
		}
		if pipe.Len() == 0 {
			break
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, Unavailable(err)
		}
	}
	tasks := make([]Task, len(names))
	for i, name := range names {
		tasks[i] = asked[i].task(name, now)
	}
	return tasks, nil
}

func (s *Store) askSizes(ctx context.Context) func(redis.Pipeliner, string, *counting) {
	return func(p redis.Pipeliner, name string, c *counting) {
		c.states = map[State]*redis.IntCmd{}
		for _, state := range states() {
			c.states[state] = p.ZCard(ctx, s.Keys.Index(name, string(state)))
		}
		c.failed, c.high = p.ZCard(ctx, s.Keys.Index(name, setFailed)), p.ZCard(ctx, s.Keys.Index(name, setHighRisk))
		c.damaged = p.ZCard(ctx, s.Keys.Index(name, setDamaged))
		c.lists = p.HVals(ctx, s.Keys.Lists(name))
	}
}

func (s *Store) askOldest(ctx context.Context, now time.Time) func(redis.Pipeliner, string, *counting) {
	return func(p redis.Pipeliner, name string, c *counting) {
		for state, n := range c.states {
			if n.Val() > 0 {
				c.oldest = append(c.oldest, p.ZRange(ctx, s.Keys.Index(name, string(state)), 0, 0))
			}
			if n.Val() > 0 && Final(state) {
				c.settled = append(c.settled, p.ZCount(ctx, s.Keys.Index(name, string(state)), decimal(float64(now.Add(-rateOver).UnixMilli())), "+inf"))
			}
		}
	}
}

func (s *Store) askCreated(ctx context.Context) func(redis.Pipeliner, string, *counting) {
	return func(p redis.Pipeliner, name string, c *counting) {
		for _, oldest := range c.oldest {
			for _, asset := range oldest.Val() {
				c.created = append(c.created, p.HMGet(ctx, s.Keys.Ticket(ID(Asset(asset), name)), "created_at"))
			}
		}
	}
}

func (c *counting) task(name string, now time.Time) Task {
	t := Task{Name: name, States: map[State]int64{}, Failed: c.failed.Val(), HighRisk: c.high.Val(), Damaged: c.damaged.Val(), Lists: int64(len(c.lists.Val()))}
	t.Total = t.Damaged
	for state, n := range c.states {
		if n.Val() > 0 {
			t.States[state] = n.Val()
			t.Total += n.Val()
		}
	}
	for _, total := range c.lists.Val() {
		t.Total = max(t.Total, number(total))
	}
	for _, answer := range c.created {
		at := millis(textsOf(answer.Val())[0])
		if at.UnixMilli() > 0 && (t.StartedAt.IsZero() || at.Before(t.StartedAt)) {
			t.StartedAt = at
		}
	}
	settled := int64(0)
	for _, n := range c.settled {
		settled += n.Val()
	}
	if over := min(now.Sub(t.StartedAt), rateOver); over > 0 {
		t.PerMinute = float64(settled) / over.Minutes()
	}
	return t
}
