// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/store"
)

// TestReportsAndAssetsDoNotMix: what begins with list: follows list-report, and nothing else does.
func TestReportsAndAssetsDoNotMix(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a")
	for _, one := range []struct{ asset, flow, want string }{
		{"list:nightly", "", "its flow is list-report"},
		{"list:nightly", "asset-inference", "its flow is list-report"},
		{"web-01", "list-report", "leave flow out"},
		{"list:", "list-report", "1 to 64 of"},
		{"list:a/b", "list-report", "1 to 64 of"},
		{"list:" + strings.Repeat("a", 65), "list-report", "1 to 64 of"},
	} {
		request := ask(one.asset, "w48")
		request.Flow = one.flow
		_, err := e.Claim(t.Context(), request)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "asset" || !strings.Contains(invalid.Message, one.want) {
			t.Errorf("%s in %q: got %v, want %q", one.asset, one.flow, err, one.want)
		}
	}
	if keys := e.config.Redis.Keys(t.Context(), "picket:{*").Val(); len(keys) > 0 {
		t.Errorf("a refused claim left %q", keys)
	}
	claimedIn(t, e, store.ListReport, "list:nightly", "w48")
	claimed(t, e, "web-01", "w48")
}

// TestAReportIsNoneOfItsTasksAssets: it is listed under its task, whatever is asked for, and counted nowhere.
func TestAReportIsNoneOfItsTasksAssets(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	e := f.host("host-a")
	claimed(t, e, "web-01", "w48")
	c := claimedIn(t, e, store.ListReport, "list:nightly", "w48")
	if _, err := e.Fail(t.Context(), c.ID, agent, FailureRequest{Step: "gather", Error: "Redis is away"}); err != nil {
		t.Fatal(err)
	}
	listed := func(q store.TicketQuery, want int) {
		t.Helper()
		q.Limit = 10
		await(t, fmt.Sprintf("%+v lists %d", q, want), func() bool {
			page, err := e.Tickets(t.Context(), q)
			return err == nil && len(page.Tickets) == want
		})
	}
	counted := func(failed int64, states map[store.State]int64) {
		t.Helper()
		task, _, err := e.Task(t.Context(), "w48")
		if err != nil || task.Total != 1 || task.Failed != failed || len(task.States) != len(states) || task.States[store.Init] != states[store.Init] {
			t.Errorf("the task is %+v, %v", task, err)
		}
	}
	listed(store.TicketQuery{Task: "w48"}, 2)
	listed(store.TicketQuery{Task: "w48", Failed: true}, 1)
	listed(store.TicketQuery{Task: "w48", Held: true}, 2)
	listed(store.TicketQuery{Prefix: "list:"}, 1)
	counted(0, map[store.State]int64{store.Init: 1})
	if _, err := step(t, e, c, "gather", store.Gathered, `{"high_risk": true}`); err != nil {
		t.Fatal(err)
	}
	listed(store.TicketQuery{Task: "w48", State: store.Gathered}, 1)
	listed(store.TicketQuery{HighRisk: true}, 0)
	if _, err := e.Finish(t.Context(), c.ID, agent, ""); err != nil {
		t.Fatal(err)
	}
	listed(store.TicketQuery{Task: "w48", State: store.Finished}, 1)
	listed(store.TicketQuery{State: store.Finished}, 1)
	counted(0, map[store.State]int64{store.Init: 1})
}

func TestAReportsListsAreKeptEverywhere(t *testing.T) { everywhere(t, keepsLists) }

// keepsLists notes a report and its list, in whatever slots they are.
func keepsLists(t *testing.T, s *shared) {
	e := s.fleet(t).frozen("host-a")
	digest := strings.Repeat("0a", 32)
	note := store.ReportNote{Ticket: store.ID("list:nightly", "w48"), List: digest, Total: 1001, Run: "one", Works: true}
	if got, err := e.NoteReport(t.Context(), note); err != nil || got.Parts != 0 || got.Lists[digest] != 1001 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := e.PutPart(t.Context(), digest, 1, []store.Asset{"web-01"}); err != nil {
		t.Fatal(err)
	}
	of, err := e.Part(t.Context(), digest, 1)
	if err != nil || len(of) != 1 || of[0] != "web-01" {
		t.Errorf("%q, %v", of, err)
	}
	note.Run = "two"
	if got, err := e.NoteReport(t.Context(), note); err != nil || got.Parts != 1 || got.Works != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
