// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/store"
)

func TestListingsFindWhatIsAskedFor(t *testing.T) { everywhere(t, filters) }

func TestAnIndexThatIsLostIsSaidAndRebuilt(t *testing.T) { everywhere(t, lostIndex) }

func TestWhatIsIndexedWronglyIsPutRight(t *testing.T) { everywhere(t, wrongIndex) }

func TestATaskIsCountedOverAllHosts(t *testing.T) { everywhere(t, countedTask) }

// some makes tickets in several ways of standing, on two hosts.
func some(t *testing.T, a, b *Engine) (claims map[string]*Claim) {
	t.Helper()
	claims = map[string]*Claim{}
	claim := func(e *Engine, asset, task string) *Claim {
		c, _ := claimed(t, e, asset, task)
		claims[asset+"/"+task] = c
		return c
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	claim(a, "web-held", "t")
	c := claim(b, "web-failing", "t")
	must(second(b.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "no route"})))
	must(b.Release(t.Context(), c.ID, agent))
	c = claim(b, "db-failed", "t")
	must(second(b.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "online", Error: "no route", Final: true})))
	must(b.Release(t.Context(), c.ID, agent))
	c = claim(a, "db-risk", "t")
	advance(t, a, c, store.VulnCheckDone)
	must(second(step(t, a, c, "assess", store.HighRiskFound, `{"high_risk":true}`)))
	must(a.Release(t.Context(), c.ID, agent))
	for _, id := range []store.TicketID{store.ID("web-done", "t"), store.ID("web-done", "other")} {
		c = claim(a, string(id.Asset), id.Task)
		must(second(step(t, a, c, "online", store.AssetOffline, "")))
		must(second(a.Finish(t.Context(), c.ID, agent, "")))
	}
	for _, e := range []*Engine{a, b} { // a listing waits for what its own host has written; another host's comes within a second
		must(second(e.Tickets(t.Context(), store.TicketQuery{Limit: 1})))
	}
	return claims
}

func second[T any](_ T, err error) error { return err }

func listed(t *testing.T, e *Engine, q store.TicketQuery) (ids []string) {
	t.Helper()
	for pages := 0; pages == 0 || q.Cursor != ""; pages++ {
		page, err := e.Tickets(t.Context(), q)
		if err != nil || pages > 50 {
			t.Fatalf("%+v: page %d, %v", q, pages, err)
		}
		if page.Cursor != "" && len(page.Tickets) != q.Limit {
			t.Errorf("%+v: a page with a cursor has %d tickets", q, len(page.Tickets))
		}
		for _, one := range page.Tickets {
			ids = append(ids, one.ID.String())
		}
		q.Cursor = page.Cursor
	}
	slices.Sort(ids)
	return ids
}

func filters(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	begun := time.Now().Add(-time.Minute)
	some(t, a, b)
	for name, c := range map[string]struct {
		store.TicketQuery
		want []string
	}{
		"all":               {store.TicketQuery{}, []string{"db-failed/t", "db-risk/t", "web-done/other", "web-done/t", "web-failing/t", "web-held/t"}},
		"task":              {store.TicketQuery{Task: "t"}, []string{"db-failed/t", "db-risk/t", "web-done/t", "web-failing/t", "web-held/t"}},
		"another task":      {store.TicketQuery{Task: "other"}, []string{"web-done/other"}},
		"no task":           {store.TicketQuery{Task: "none"}, nil},
		"state":             {store.TicketQuery{State: store.Init}, []string{"web-failing/t", "web-held/t"}},
		"FINISHED":          {store.TicketQuery{State: store.Finished}, []string{"web-done/other", "web-done/t"}},
		"FAILED":            {store.TicketQuery{State: store.Failed}, []string{"db-failed/t"}},
		"state of a task":   {store.TicketQuery{State: store.Finished, Task: "t"}, []string{"web-done/t"}},
		"asset":             {store.TicketQuery{Asset: "web-done"}, []string{"web-done/other", "web-done/t"}},
		"asset and task":    {store.TicketQuery{Asset: "web-done", Task: "t"}, []string{"web-done/t"}},
		"prefix":            {store.TicketQuery{Prefix: "db-"}, []string{"db-failed/t", "db-risk/t"}},
		"prefix in a task":  {store.TicketQuery{Prefix: "web-d", Task: "t"}, []string{"web-done/t"}},
		"since":             {store.TicketQuery{Since: begun, State: store.Failed}, []string{"db-failed/t"}},
		"since later":       {store.TicketQuery{Since: time.Now().Add(time.Hour)}, nil},
		"host":              {store.TicketQuery{Host: "host-b"}, []string{"db-failed/t", "web-failing/t"}},
		"host and state":    {store.TicketQuery{Host: "host-a", State: store.Init}, []string{"web-held/t"}},
		"high risk":         {store.TicketQuery{HighRisk: true}, []string{"db-risk/t"}},
		"high risk of task": {store.TicketQuery{HighRisk: true, Task: "other"}, nil},
		"failed":            {store.TicketQuery{Failed: true}, []string{"db-failed/t", "web-failing/t"}},
		"failed and open":   {store.TicketQuery{Failed: true, State: store.Init}, []string{"web-failing/t"}},
		"held":              {store.TicketQuery{Held: true}, []string{"web-held/t"}},
		"stuck":             {store.TicketQuery{Stuck: true}, nil}, // nothing is old enough
	} {
		for _, limit := range []int{1, 2, 100} {
			c.Limit = limit
			if ids := listed(t, a, c.TicketQuery); !slices.Equal(ids, c.want) {
				t.Errorf("%s, by %d: got %q, want %q", name, limit, ids, c.want)
			}
		}
	}
}

// indexed are the sets of the index that these tests use.
var indexed = []string{"failed", "high_risk", "INIT", "ASSET_ONLINE", "ASSET_OFFLINE", "VULN_CHECK_DONE", "HIGH_RISK_FOUND", "FINISHED", "FAILED"}

// age has a ticket written last so long ago, in the index too.
func age(t *testing.T, s *shared, e *Engine, id store.TicketID, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by).UnixMilli()
	if err := s.Client.HSet(t.Context(), e.store.Keys.Ticket(id), "updated_at", at).Err(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"*", id.Task} {
		for _, name := range indexed {
			s.Client.ZAddXX(t.Context(), e.store.Keys.Index(part, name), redis.Z{Score: float64(at), Member: map[bool]string{true: id.String(), false: string(id.Asset)}[part == "*"]})
		}
	}
}

func TestWhatIsStuckIsOlderThanItsTaskTakes(t *testing.T) { everywhere(t, stuckTickets) }

func stuckTickets(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	some(t, a, b)
	keys := a.store.Keys
	for _, id := range []store.TicketID{
		store.ID("db-risk", "t"), store.ID("web-failing", "t"), store.ID("web-held", "t"), store.ID("db-failed", "t"), store.ID("web-done", "t"),
	} {
		age(t, s, a, id, time.Hour)
	}
	q := store.TicketQuery{Stuck: true, Limit: 1}
	if ids, want := listed(t, a, q), []string{"db-risk/t", "web-failing/t"}; !slices.Equal(ids, want) { // one is held, two are terminal
		t.Errorf("got %q, want %q", ids, want)
	}
	for asset, want := range map[store.Asset][]string{"web-failing": {"web-failing/t"}, "web-held": nil} {
		if ids := listed(t, a, store.TicketQuery{Stuck: true, Asset: asset, Limit: 1}); !slices.Equal(ids, want) {
			t.Errorf("of %s: got %q, want %q", asset, ids, want)
		}
	}
	age(t, s, a, store.ID("web-failing", "t"), 5*time.Minute) // an agent may pause as long
	if ids, want := listed(t, a, q), []string{"db-risk/t"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
	created := strconv.FormatInt(time.Now().Add(-4*time.Hour).UnixMilli(), 10)
	if err := s.Client.HSet(t.Context(), keys.Ticket(store.ID("web-done", "t")), "created_at", created).Err(); err != nil {
		t.Fatal(err)
	}
	if ids := listed(t, a, q); ids != nil { // tickets of this task take three hours
		t.Errorf("got %q", ids)
	}
}

// await calls until it is true, for at most 60 s.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func incomplete(t *testing.T, e *Engine) bool {
	t.Helper()
	page, err := e.Tickets(t.Context(), store.TicketQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Incomplete
}

func lostIndex(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	some(t, a, b)
	await(t, "the first walk", func() bool { return !incomplete(t, a) })
	before := listed(t, a, store.TicketQuery{Limit: 100})
	forget := func(parts ...string) {
		for _, part := range parts {
			for _, name := range append([]string{"where", "walked", "tasks"}, indexed...) {
				if err := s.Client.Del(t.Context(), a.store.Keys.Index(part, name)).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	forget("*", "t")
	if !incomplete(t, a) {
		t.Error("the index of all is gone, and nothing is said")
	}
	task, missing, err := a.store.Task(t.Context(), "t")
	if err == nil && !missing {
		t.Errorf("the index of a task is gone, and it is said to be %+v", task)
	}
	if due, err := a.store.BeginWalk(t.Context(), "another"); !due || err != nil {
		t.Errorf("no walk is due: %v, %v", due, err)
	}
	if err := a.courier.Walk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := listed(t, a, store.TicketQuery{Limit: 100}); !slices.Equal(after, before) || incomplete(t, a) {
		t.Errorf("after the walk there are %q, were %q", after, before)
	}
	if due, err := a.store.BeginWalk(t.Context(), "another"); due || err != nil {
		t.Errorf("a walk is due: %v, %v", due, err)
	}
	if err := s.Client.Del(t.Context(), a.store.Keys.Ticket(store.ID("web-failing", "t"))).Err(); err != nil { // with its shard's data
		t.Fatal(err)
	}
	if err := a.courier.Walk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _, err := a.Task(t.Context(), "t"); err != nil || got.States[store.Init] != 1 || got.Failed != 1 {
		t.Errorf("after the walk a ticket that is gone counts: %+v, %v", got, err)
	}
	key := slices.Sorted(maps.Keys(a.lookout.Stores()))[0]
	if err := s.Client.HSet(t.Context(), a.store.Keys.Index("*", "walked"), key, "of other data").Err(); err != nil {
		t.Fatal(err)
	}
	if !incomplete(t, a) {
		t.Error("a master has other data than those that were walked through, and nothing is said")
	}
}

// wrongIndex: a daemon that died has not indexed its last writes, and tickets have expired.
func wrongIndex(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	some(t, a, b)
	ticket := func(asset string) string { return a.store.Keys.Ticket(store.ID(store.Asset(asset), "t")) }
	if err := s.Client.HSet(t.Context(), ticket("web-held"), "state", "FAILED", "revision", 9).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Del(t.Context(), ticket("web-failing")).Err(); err != nil {
		t.Fatal(err)
	}
	if ids := listed(t, a, store.TicketQuery{State: store.Init, Limit: 100}); ids != nil {
		t.Errorf("INIT are %q", ids)
	}
	if ids, want := listed(t, a, store.TicketQuery{State: store.Failed, Limit: 100}), []string{"db-failed/t", "web-held/t"}; !slices.Equal(ids, want) {
		t.Errorf("FAILED are %q, want %q: nobody has put the index right", ids, want)
	}
	listed(t, a, store.TicketQuery{Task: "t", State: store.Init, Limit: 100}) // has its own index
	got, _, err := a.Task(t.Context(), "t")
	want := map[store.State]int64{store.Failed: 2, store.HighRiskFound: 1, store.Finished: 1}
	if err != nil || !maps.Equal(got.States, want) {
		t.Errorf("got %+v, %v, want %v", got, err, want)
	}
}

func countedTask(t *testing.T, s *shared) {
	f := s.fleet(t)
	a, b := f.host("host-a"), f.host("host-b")
	some(t, a, b)
	got, _, err := b.Task(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	want := map[store.State]int64{store.Init: 2, store.Failed: 1, store.HighRiskFound: 1, store.Finished: 1}
	first, _ := a.Ticket(t.Context(), store.ID("web-held", "t"))
	if !maps.Equal(got.States, want) || got.Total != 5 || got.Failed != 2 || got.HighRisk != 1 || got.PerMinute <= 0 || !got.StartedAt.Equal(first.CreatedAt) {
		t.Errorf("got %+v, want %v, begun at %v", got, want, first.CreatedAt)
	}
	for list, total := range map[string]int{"one": 300, "another": 20} {
		if err := s.Client.HSet(t.Context(), a.store.Keys.Lists("t"), list, total).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err = b.Task(t.Context(), "t"); err != nil || got.Total != 300 || got.Lists != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	_, _, err = a.Task(t.Context(), "none")
	wantErr(t, err, store.ErrTaskNotFound)
	var names []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page, err := a.Tasks(t.Context(), 1, cursor)
		if err != nil || pages > 2 {
			t.Fatal(page, err)
		}
		for _, task := range page.Tasks {
			names = append(names, fmt.Sprint(task.Name, task.Total, task.UpdatedAt.IsZero()))
		}
		cursor = page.Cursor
	}
	slices.Sort(names) // both may have been written to in one ms
	if want := []string{"other1 false", "t300 false"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
