// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/lease"
	"github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/sockapi/client"
)

// kept is a daemon that has parts of lists, by DIGEST/PART, and tickets, by their ids.
type kept struct {
	parts   map[string][]string
	tickets map[string]client.Ticket
}

func (k kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(r.URL.Path, "/")[2:]
	var answer any
	switch {
	case path[0] == "lists":
		answer = client.ListPart{Assets: k.parts[path[1]+"/"+path[3]]}
	case len(path) == 1:
		answer = k.list(r.URL.Query())
	case path[1] == "states":
		var asked client.StatesRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		states := map[string]*client.TicketState{}
		for _, id := range asked.IDs {
			if t, ok := k.tickets[id]; ok {
				states[id] = &client.TicketState{State: t.State}
			}
		}
		answer = client.StatesResponse{States: states}
	default:
		t, ok := k.tickets[path[1]+"/"+path[2]]
		answer = client.TicketBody{Ticket: t}
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			answer = client.Problem{Status: http.StatusNotFound, Code: client.TicketNotFound}
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// list answers GET /v1/tickets for one asset's tickets. Those that are kept by anything but their id run out before they are read.
func (k kept) list(q url.Values) (list client.TicketList) {
	since, _ := time.Parse(time.RFC3339Nano, q.Get("since"))
	for _, t := range k.tickets {
		risky := t.HighRisk != nil && *t.HighRisk
		if t.Asset == q.Get("asset") && (risky || q.Get("high_risk") == "") && !t.UpdatedAt.Before(since) {
			list.Tickets = append(list.Tickets, t)
		}
	}
	return list
}

// keep keeps a list.
func (k kept) keep(t *testing.T, names ...string) (digest string, list *assets.List) {
	t.Helper()
	l, err := assets.Read(strings.NewReader(strings.Join(names, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Len() {
		part := fmt.Sprint(l.Digest(), "/", i/client.PartSize)
		k.parts[part] = append(k.parts[part], l.At(i).Name)
	}
	return l.Digest(), &l
}

func (k kept) feed(t *testing.T) *Feed {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	daemon := &http.Server{Handler: k}
	go func() { _ = daemon.Serve(l) }()
	t.Cleanup(func() { _ = daemon.Close() })
	return &Feed{Client: client.New(socket), Call: lease.Call, Task: "n3"}
}

func many(from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprint("web-", i))
	}
	return names
}

// TestTheAssetsOfAllListsEachOnce, those of long lists too, and what only the report before had.
func TestTheAssetsOfAllListsEachOnce(t *testing.T) {
	t.Parallel()
	k := kept{map[string][]string{}, nil}
	a, own := k.keep(t, many(0, 2500)...)
	b, _ := k.keep(t, many(2000, 3100)...)
	before, _ := k.keep(t, many(3000, 3200)...)
	delete(k.parts, a+"/1") // a run needs not read its own list
	f := k.feed(t)
	f.Own, f.Lists, f.Before = own, map[string]int{a: 2500, b: 1100}, map[string]int{before: 200, b: 1100}
	seen := map[string]bool{}
	for m, err := range f.members(t.Context()) {
		if _, twice := seen[m.name]; twice || err != nil {
			t.Fatalf("%+v, %v", m, err)
		}
		seen[m.name] = m.gone
	}
	gone := 0
	for _, name := range many(0, 3200) {
		is, there := seen[name]
		if !there || is != slices.Contains(many(3100, 3200), name) {
			t.Errorf("%s: %v, gone %v", name, there, is)
		}
		if is {
			gone++
		}
	}
	if len(seen) != 3200 || gone != 100 || f.Lost != 0 {
		t.Errorf("%d assets, %d gone, %d lost", len(seen), gone, f.Lost)
	}
}

// TestAListThatIsNotKeptWholeIsCounted, whatever became of it.
func TestAListThatIsNotKeptWholeIsCounted(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(k kept, digest string){
		"a part is missing":   func(k kept, digest string) { delete(k.parts, digest+"/1") },
		"a name is missing":   func(k kept, digest string) { k.parts[digest+"/1"] = k.parts[digest+"/1"][1:] },
		"a name stands twice": func(k kept, digest string) { k.parts[digest+"/1"][1] = k.parts[digest+"/1"][0] },
		"another name": func(k kept, digest string) {
			last := &k.parts[digest+"/1"][199]
			for *last = "x"; assets.Compare(*last, k.parts[digest+"/1"][198]) < 0; *last += "x" { // in order all the same
			}
		},
	} {
		k := kept{map[string][]string{}, nil}
		a, _ := k.keep(t, many(0, 1200)...)
		b, _ := k.keep(t, "db-01")
		damage(k, a)
		f := k.feed(t)
		f.Lists = map[string]int{a: 1200, b: 1}
		n, found := 0, false
		for m, err := range f.members(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			found = found || m.name == "db-01"
		}
		if f.Lost == 0 || !found || n+f.Lost < 1201 {
			t.Errorf("%s: %d assets, %d lost, another list is read: %v", name, n, f.Lost, found)
		}
	}
}

// TestWhatAnAssetIsComparedWith: the newest report that knew its findings, never one that could not know them.
func TestWhatAnAssetIsComparedWith(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	ticket := func(state string, at time.Time, steps ...string) client.Ticket {
		all := client.Ticket{State: state, Summary: at.String(), CreatedAt: noon.Add(-24 * time.Hour), Steps: map[string]client.Step{}}
		for _, name := range steps {
			all.Steps[name] = client.Step{At: at}
		}
		return all
	}
	scanned := func(at time.Time) client.Ticket { return ticket("FINISHED", at, "online", "vuln", "assess") }
	partly := func(at time.Time) client.Ticket {
		t := scanned(at)
		t.Steps["vuln"] = client.Step{At: at, Facts: json.RawMessage(`{"findings": [], "incomplete": true}`)}
		return t
	}
	damaged := scanned(noon.Add(-time.Hour))
	damaged.Damaged = "the facts of vuln"
	n1, n2 := noon.Add(-24*time.Hour), noon
	for name, one := range map[string]struct {
		tickets map[string]client.Ticket
		want    string // the tasks
	}{
		"not all was tried before":        {map[string]client.Ticket{"a/n2": partly(n2.Add(-time.Hour)), "a/n1": scanned(n1.Add(-time.Hour))}, "n2 n1"},
		"not all was tried, and offline":  {map[string]client.Ticket{"a/n2": ticket("FINISHED", n2.Add(-time.Hour), "online"), "a/n1": partly(n1.Add(-time.Hour))}, "n1"},
		"scanned before":                  {map[string]client.Ticket{"a/n2": scanned(n2.Add(-time.Hour)), "a/n1": scanned(n1.Add(-time.Hour))}, "n2"},
		"not there before":                {map[string]client.Ticket{"a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"offline before":                  {map[string]client.Ticket{"a/n2": ticket("FINISHED", n2.Add(-time.Hour), "online"), "a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"failed before":                   {map[string]client.Ticket{"a/n2": ticket("ASSET_ONLINE", n2.Add(-time.Hour), "online"), "a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"scanned after the report":        {map[string]client.Ticket{"a/n2": scanned(n2.Add(time.Minute)), "a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"not assessed when it was made":   {map[string]client.Ticket{"a/n2": ticket("VULN_CHECK_DONE", n2.Add(-time.Hour), "online", "vuln"), "a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"Redis lost a part of it":         {map[string]client.Ticket{"a/n2": damaged, "a/n1": scanned(n1.Add(-time.Hour))}, "n1"},
		"each time after the report":      {map[string]client.Ticket{"a/n2": scanned(n2.Add(time.Minute)), "a/n1": scanned(n1.Add(time.Minute))}, ""},
		"under a task without a report":   {map[string]client.Ticket{"a/n0": scanned(n1.Add(-time.Hour))}, ""},
		"never":                           {nil, ""},
		"finished without an assessment":  {map[string]client.Ticket{"a/n2": ticket("FINISHED", n2.Add(-time.Hour), "online", "vuln")}, "n2"},
		"at the very moment of gathering": {map[string]client.Ticket{"a/n2": scanned(n2)}, "n2"},
	} {
		k := kept{map[string][]string{}, map[string]client.Ticket{}}
		for id, t := range one.tickets {
			_, t.Task, _ = strings.Cut(id, "/")
			k.tickets[id] = t
		}
		digest, _ := k.keep(t, "a")
		f := k.feed(t)
		f.Lists, f.Past = map[string]int{digest: 1}, []EarlierReport{{"n2", n2}, {"n1", n1}}
		if err := f.Each(t.Context(), func(a report.Asset) error {
			got := ""
			if a.Base != nil {
				got = a.Base.Task
			}
			for _, t := range a.Older {
				got += " " + t.Task
			}
			if got != one.want {
				t.Errorf("%s: it is compared with %q, want %q", name, got, one.want)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAHighRiskThatNoReportHasToldIsNotForgotten when the asset cannot be scanned in the next night: people would hear of the failure alone.
func TestAHighRiskThatNoReportHasToldIsNotForgotten(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	yes := true
	left := func(to string, at time.Time) client.Ticket {
		assess := client.Step{At: at, Facts: json.RawMessage(fmt.Sprintf(`{"high_risk":true,"left_to":%q}`, to))}
		return client.Ticket{
			Asset: "a", State: "FINISHED", HighRisk: &yes, CreatedAt: at, UpdatedAt: at,
			Steps: map[string]client.Step{"online": {At: at, State: "ASSET_ONLINE"}, "vuln": {At: at, Facts: json.RawMessage(`{"findings":[]}`)}, "assess": assess},
		}
	}
	failed := client.Ticket{Asset: "a", State: "ASSET_ONLINE", CreatedAt: noon.Add(time.Hour), Failure: &client.Failure{Step: "vuln", Error: "it ends with 1"}}
	for name, one := range map[string]struct {
		tickets map[string]client.Ticket
		past    []EarlierReport
		want    bool
	}{
		"it fails":                         {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon), "a/n3": failed}, []EarlierReport{{"n1", noon.Add(-time.Hour)}}, true},
		"it has no ticket":                 {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon)}, []EarlierReport{{"n1", noon.Add(-time.Hour)}}, true},
		"no report was ever told":          {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon), "a/n3": failed}, nil, true},
		"it came after its report":         {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon), "a/n3": failed}, []EarlierReport{{"n2", noon.Add(-time.Hour)}}, true},
		"its report was told":              {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon), "a/n3": failed}, []EarlierReport{{"n2", noon.Add(time.Minute)}}, false},
		"it is another list's":             {map[string]client.Ticket{"a/n2": left("list:weekly/n2", noon), "a/n3": failed}, nil, false},
		"people were told by itself":       {map[string]client.Ticket{"a/n2": left("", noon), "a/n3": failed}, nil, false},
		"it is scanned anew":               {map[string]client.Ticket{"a/n2": left("list:nightly/n2", noon), "a/n3": left("list:nightly/n3", noon.Add(time.Hour))}, nil, false},
		"it was found after the gathering": {map[string]client.Ticket{"a/n4": left("list:nightly/n4", noon.Add(3*time.Hour)), "a/n3": failed}, nil, false},
	} {
		k := kept{map[string][]string{}, map[string]client.Ticket{}}
		for id, t := range one.tickets {
			_, t.Task, _ = strings.Cut(id, "/")
			k.tickets[id] = t
		}
		digest, _ := k.keep(t, "a")
		f := k.feed(t)
		f.List, f.Lists, f.Past, f.Until = "nightly", map[string]int{digest: 1}, one.past, noon.Add(2*time.Hour)
		maker := report.New(report.Header{List: "nightly", Task: "n3"})
		if err := f.Each(t.Context(), maker.Add); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		told := slices.Contains(maker.Report().NewlyHigh.First(9), "a")
		if wanted := one.want || name == "it is scanned anew"; len(f.Untold) == 1 != one.want || told != wanted {
			t.Errorf("%s: untold %v, newly at high risk %v", name, f.Untold, told)
		}
	}
}

// TestAFeedEnds: with what is made of an asset, with a call, or with its caller.
func TestAFeedEnds(t *testing.T) {
	t.Parallel()
	k := kept{map[string][]string{}, map[string]client.Ticket{}}
	digest, _ := k.keep(t, many(0, 100)...)
	f := k.feed(t)
	f.Lists = map[string]int{digest: 100}
	enough := errors.New("enough")
	n := 0
	if err := f.Each(t.Context(), func(report.Asset) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("after %d: %v", n, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := f.Each(ctx, func(report.Asset) error { cancel(enough); return nil }); !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
		t.Errorf("without its caller: %v", err)
	}
	f.Call = func(context.Context, func(context.Context) error) error { return enough }
	if err := f.Each(t.Context(), func(report.Asset) error { return nil }); !errors.Is(err, enough) {
		t.Errorf("without an answer: %v", err)
	}
}

// TestAReportThatRunsOutWhileReportsAreReadCountsNot: its ticket is in the listing, and gone.
func TestAReportThatRunsOutWhileReportsAreReadCountsNot(t *testing.T) {
	t.Parallel()
	at := time.Now().UTC().Truncate(time.Second)
	gathered := func(task string, at time.Time) client.Ticket {
		facts, err := json.Marshal(ReportFacts{Report: report.Facts{Task: task}})
		if err != nil {
			t.Fatal(err)
		}
		return client.Ticket{Asset: assets.ReportPrefix + "web", Task: task, State: client.StateFinished, Steps: map[string]client.Step{client.StepGather: {Facts: facts, At: at}}}
	}
	damaged := gathered("n3", at.Add(-time.Minute))
	k := kept{nil, map[string]client.Ticket{
		assets.ReportPrefix + "web/n1": gathered("n1", at.Add(-time.Hour)),
		"ran out":                      gathered("n2", at.Add(-2*time.Minute)),
		"whole when it was listed":     damaged,
	}}
	damaged.Damaged, damaged.Steps = "steps", nil
	k.tickets[assets.ReportPrefix+"web/n3"] = damaged
	f := k.feed(t)
	all, err := EarlierReports(t.Context(), f.Client, f.Call, "web", "n4", at)
	if err != nil || len(all) != 1 || all[0].Report.Task != "n1" {
		t.Errorf("%+v, %v", all, err)
	}
}
