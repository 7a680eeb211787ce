// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// write makes a ticket that stands so, and has it indexed.
func write(t *testing.T, c redis.UniversalClient, s *Store, id TicketID, is Stand) {
	t.Helper()
	fields := []any{"state", string(is.State), "run", 1, "revision", is.Revision, "updated_at", is.UpdatedAt.UnixMilli(), "created_at", is.UpdatedAt.UnixMilli()}
	if is.Failed {
		fields = append(fields, "failure_step", "vuln")
	}
	if err := c.HSet(t.Context(), s.Keys.Ticket(id), fields...).Err(); err != nil {
		t.Fatal(err)
	}
	s.Touch(id, is)
	if err := s.flushIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTheOneThatFailedIsFoundAtOnce, behind more FINISHED tickets than the index of all keeps, with as many commands as if there were
// none of them.
func TestTheOneThatFailedIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	failed, open := ID("failed", "t"), ID("open", "t")
	write(t, c, s, failed, stood(Failed, 0, true, false))
	write(t, c, s, open, stood(Notifying, 1))
	for i := range indexMost / 1000 {
		some := make([]redis.Z, 1000)
		for j := range some {
			some[j] = redis.Z{Score: float64(noon.UnixMilli() + 2 + int64(i)), Member: fmt.Sprintf("asset-%d/t", i*1000+j)}
		}
		if err := c.ZAdd(t.Context(), s.Keys.Index(all, "FINISHED"), some...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	write(t, c, s, ID("last", "t"), stood(Finished, 10_000))
	if n := c.ZCard(t.Context(), s.Keys.Index(all, "FINISHED")).Val(); n != indexMost {
		t.Errorf("the index of all keeps %d FINISHED tickets, want %d", n, indexMost)
	}
	for _, one := range []struct {
		TicketQuery
		want TicketID
	}{
		{TicketQuery{State: Failed}, failed},
		{TicketQuery{Failed: true}, failed},
		{TicketQuery{State: Notifying}, open},
		{TicketQuery{Prefix: "open"}, open},
	} {
		c.ConfigResetStat(t.Context())
		q := one.TicketQuery
		q.Limit = 50
		page, err := s.Tickets(t.Context(), q)
		for err == nil && len(page.Tickets) == 0 && page.Cursor != "" { // going through so many names took this machine too long
			q.Cursor = page.Cursor
			page, err = s.Tickets(t.Context(), q)
		}
		if err != nil || len(page.Tickets) != 1 || page.Tickets[0].ID != one.want || page.Cursor != "" {
			t.Errorf("%+v: got %+v, %v", q, page, err)
		}
		stats := c.Info(t.Context(), "commandstats").Val()
		if n := len(regexp.MustCompile(`(?m)^cmdstat_(hmget|hkeys):calls=[1-4],`).FindAllString(stats, -1)); n != 2 {
			t.Errorf("%+v reads more tickets than there are: %s", q, stats)
		}
	}
}

// late is a Redis whose first pipeline of a kind takes long.
type late struct {
	kind string
	by   time.Duration
}

func (*late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*late) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (l *late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == l.kind {
			time.Sleep(l.by)
			l.by = 0
		}
		return next(ctx, cmds)
	}
}

// TestAListingEndsInTime, when few of many match, with a cursor that leads on.
func TestAListingEndsInTime(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	const tickets = 3 * listBatch
	for i := range tickets {
		write(t, c, s, ID(Asset(fmt.Sprint("a-", i)), "t"), stood(Init, i, i == 0, false))
	}
	c.AddHook(&late{"hkeys", listTime})
	page, err := s.Tickets(t.Context(), TicketQuery{State: Init, Failed: true, Limit: 1})
	if err != nil || len(page.Tickets) != 0 || page.Cursor == "" {
		t.Fatalf("got %+v, %v", page, err)
	}
	page, err = s.Tickets(t.Context(), TicketQuery{State: Init, Failed: true, Limit: 1, Cursor: page.Cursor})
	if err != nil || len(page.Tickets) != 1 || page.Cursor != "" {
		t.Errorf("got %+v, %v", page, err)
	}
}

// TestATaskForEachAsset: with as many tasks as tickets, each is found, and costs no more than a few hundred bytes.
func TestATaskForEachAsset(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	t.Cleanup(func() { _ = c.Close() })
	s := over(t, c)
	const tasks = 2000
	entries := map[TicketID]entry{}
	for i := range tasks {
		is := stood(Finished, i)
		entries[ID(Asset(fmt.Sprintf("web-%04d.example.com", i)), fmt.Sprintf("check-%04d", i))] = entry{Stand: is, score: is.score()}
	}
	if left, err := s.place(t.Context(), entries); err != nil || len(left) > 0 {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page, err := s.Tasks(t.Context(), 300, cursor)
		if err != nil || pages > tasks {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			if seen[task.Name] = true; task.Total != 1 || task.States[Finished] != 1 {
				t.Fatalf("got %+v", task)
			}
		}
		cursor = page.Cursor
	}
	if len(seen) != tasks {
		t.Errorf("%d tasks are listed, want %d", len(seen), tasks)
	}
	size := int64(0)
	for _, key := range c.Keys(t.Context(), "*").Val() {
		size += c.MemoryUsage(t.Context(), key, 0).Val()
	}
	if each := size / tasks; each > 600 {
		t.Errorf("a ticket takes %d bytes of the index", each)
	}
}
