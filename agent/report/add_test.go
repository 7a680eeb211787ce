// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/verdict"
	"github.com/picketd/picket/sockapi/client"
)

// scanned is the ticket of an asset that was scanned to its end.
func scanned(asset, task string, high bool, list ...findings.Finding) *client.Ticket {
	facts, err := json.Marshal(verdict.FactsOf(findings.Report{Findings: list}))
	if err != nil {
		panic(err)
	}
	t := ticket(asset, task, client.StateFinished)
	t.Steps[client.StepOnline] = client.Step{State: client.StateAssetOnline}
	t.Steps[client.StepVuln] = client.Step{State: client.StateVulnCheckDone, Facts: facts}
	t.HighRisk = &high
	return t
}

// offline is the ticket of an asset that did not answer.
func offline(asset, task string) *client.Ticket {
	t := ticket(asset, task, client.StateFinished)
	t.Steps[client.StepOnline] = client.Step{State: client.StateAssetOffline}
	return t
}

// failed is the ticket of an asset whose scan failed.
func failed(asset, task, why string) *client.Ticket {
	t := ticket(asset, task, client.StateAssetOnline)
	t.Steps[client.StepOnline] = client.Step{State: client.StateAssetOnline}
	t.Failure = &client.Failure{Step: client.StepVuln, Error: why}
	return t
}

func ticket(asset, task, state string) *client.Ticket {
	return &client.Ticket{ID: asset + "/" + task, Asset: asset, Task: task, State: state, Run: 1, Steps: map[string]client.Step{}}
}

// cut has findings that its list had no room for.
func cut(t *client.Ticket, omitted int) *client.Ticket {
	step := t.Steps[client.StepVuln]
	var facts map[string]any
	if err := json.Unmarshal(step.Facts, &facts); err != nil {
		panic(err)
	}
	facts["omitted"], facts["count"] = omitted, facts["count"].(float64)+float64(omitted)
	step.Facts, _ = json.Marshal(facts)
	t.Steps[client.StepVuln] = step
	return t
}

// lacking tells how grave those are that the list of a ticket had no room for.
func lacking(t *client.Ticket, figures string) *client.Ticket {
	step := t.Steps[client.StepVuln]
	step.Facts = []byte(strings.Replace(string(step.Facts), "{", `{"omitted_figures": `+figures+`, `, 1))
	t.Steps[client.StepVuln] = step
	return t
}

func cve(n int, severity string) findings.Finding {
	score := map[string]float64{"critical": 9.8, "high": 7.5, "medium": 5, "low": 2}[severity]
	return findings.Finding{ID: fmt.Sprintf("CVE-2024-%04d", n), Severity: severity, CVSS: score, Title: "a hole", Package: "openssl 3.0.1", FixedIn: "3.0.2", URL: "https://example.com/"}
}

var noon = time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)

// made is the report of assets, and its rows by section.
func made(t *testing.T, previous string, all ...Asset) (*Report, map[string]int) {
	t.Helper()
	rows := map[string]int{}
	m := New(Header{List: "nightly", Task: "w2", Previous: previous, At: noon}, func(row Row) error {
		rows[row.Section]++
		return nil
	})
	for _, a := range all {
		if err := m.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	return m.Report(), rows
}

// TestCounts: what is said of one asset, by what its tickets hold.
func TestCounts(t *testing.T) {
	t.Parallel()
	high, low := cve(1, "critical"), cve(2, "low")
	worse := low
	worse.Severity, worse.CVSS = "high", 7.5
	exploited := cve(5, "critical")
	exploited.KEV = true
	unreadable := scanned("a", "w1", false, low)
	unreadable.Steps[client.StepVuln] = client.Step{State: client.StateVulnCheckDone, Facts: json.RawMessage(`{"findings": 1}`)}
	running := scanned("a", "w2", false)
	running.State = client.StateVulnCheckDone
	untold := scanned("a", "w2", true, high)
	untold.State, untold.Notification = client.StateFailed, &client.Notification{}
	found, refused := scanned("a", "w2", true, high), scanned("a", "w2", true, high)
	found.State, refused.State = client.StateHighRiskFound, client.StateHighRiskFound
	refused.Failure = &client.Failure{Step: client.CallNotify, Error: "there is no such channel"}
	was := func(t *client.Ticket) Asset { return Asset{Name: "a", Last: t, Base: t} }
	with := func(a Asset, now *client.Ticket) Asset {
		a.Now = now
		return a
	}
	for name, c := range map[string]struct {
		asset Asset
		want  Counts
		rows  map[string]int
	}{
		"the first scan of an asset": {
			Asset{Name: "a", Now: scanned("a", "w2", true, high, low)},
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 2, New: 2},
			map[string]int{SectionNew: 2, SectionNewlyHigh: 1},
		},
		"the same again": {
			with(was(scanned("a", "w1", true, high, low)), scanned("a", "w2", true, low, high)),
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 2},
			map[string]int{SectionOpen: 2},
		},
		"one new, one fixed, one changed": {
			with(was(scanned("a", "w1", true, high, low)), scanned("a", "w2", false, worse, cve(3, "medium"))),
			Counts{Assets: 1, Online: 1, Findings: 2, New: 1, Fixed: 1},
			map[string]int{SectionNew: 1, SectionFixed: 1, SectionChanged: 1, SectionNoLongerHigh: 1},
		},
		"a failed scan fixes nothing": {
			with(was(scanned("a", "w1", true, high)), failed("a", "w2", "no such host")),
			Counts{Assets: 1, Online: 1, Failed: 1, Unknown: 1},
			map[string]int{SectionFailed: 1, SectionUnknown: 1},
		},
		"an asset that is offline has nothing fixed": {
			with(was(scanned("a", "w1", true, high)), offline("a", "w2")),
			Counts{Assets: 1, Offline: 1, Unreached: 1, Unknown: 1},
			map[string]int{SectionUnreached: 1, SectionUnknown: 1},
		},
		"offline again, compared with an older scan": {
			Asset{Name: "a", Now: offline("a", "w2"), Last: offline("a", "w1"), Base: scanned("a", "w0", false, high)},
			Counts{Assets: 1, Offline: 1, Unreached: 1, Unknown: 1},
			map[string]int{SectionUnreached: 1, SectionUnknown: 1},
		},
		"back online, compared with an older scan": {
			Asset{Name: "a", Now: scanned("a", "w2", false, low), Last: offline("a", "w1"), Base: scanned("a", "w0", false, high)},
			Counts{Assets: 1, Online: 1, Findings: 1, New: 1, Fixed: 1},
			map[string]int{SectionNew: 1, SectionFixed: 1},
		},
		"nobody began it": {
			was(scanned("a", "w1", false, high)),
			Counts{Assets: 1, NotScanned: 1, Unknown: 1},
			map[string]int{SectionNotScanned: 1, SectionUnknown: 1},
		},
		"it is being worked on": {
			with(was(scanned("a", "w1", false, high)), running),
			Counts{Assets: 1, NotScanned: 1, Unknown: 1},
			map[string]int{SectionNotScanned: 1, SectionUnknown: 1},
		},
		"it was settled too late": {
			Asset{Name: "a", Now: scanned("a", "w2", true, high), Unsettled: true},
			Counts{Assets: 1, NotScanned: 1},
			map[string]int{SectionNotScanned: 1},
		},
		"it is in the list no more": {
			Asset{Name: "a", Base: scanned("a", "w1", true, high), Gone: true},
			Counts{NotScanned: 1, Unknown: 1},
			map[string]int{SectionNotScanned: 1, SectionUnknown: 1},
		},
		"a list that was cut now fixes nothing": {
			with(was(scanned("a", "w1", false, high, low)), cut(scanned("a", "w2", false, high), 3)),
			Counts{Assets: 1, Online: 1, Findings: 4, Unknown: 4},
			map[string]int{SectionOpen: 1, SectionUnknown: 1},
		},
		"after a list that was cut nothing is new": {
			with(was(cut(scanned("a", "w1", false, high), 3)), scanned("a", "w2", false, high, low)),
			Counts{Assets: 1, Online: 1, Findings: 2, Unknown: 1},
			map[string]int{SectionOpen: 1, SectionUnknown: 1},
		},
		"after a list that was cut what is graver than all that is missing is new": {
			with(was(lacking(cut(scanned("a", "w1", true, high), 3), `{"count": 3, "medium": 1, "low": 2, "top_cvss": 5}`)), scanned("a", "w2", true, high, cve(3, "high"), cve(4, "medium"), low)),
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 4, New: 1, Unknown: 2},
			map[string]int{SectionOpen: 1, SectionNew: 1, SectionUnknown: 2},
		},
		"after a list that was cut what is exploited now is new": {
			with(was(lacking(cut(scanned("a", "w1", false), 3), `{"count": 3, "critical": 3, "top_cvss": 9.9}`)), scanned("a", "w2", true, exploited, high)),
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 2, New: 1, Unknown: 1},
			map[string]int{SectionNewlyHigh: 1, SectionNew: 1, SectionUnknown: 1},
		},
		"after a list of which too little is known nothing is new": {
			with(was(lacking(cut(scanned("a", "w1", false), 3), `{"count": 2, "low": 2}`)), scanned("a", "w2", false, cve(3, "high"))),
			Counts{Assets: 1, Online: 1, Findings: 1, Unknown: 1},
			map[string]int{SectionUnknown: 1},
		},
		"after what cannot be read nothing is new": {
			with(was(unreadable), scanned("a", "w2", false, low)),
			Counts{Assets: 1, Online: 1, Findings: 1, Unknown: 1},
			map[string]int{SectionUnknown: 1},
		},
		"what cannot be read now has failed": {
			with(was(scanned("a", "w1", false, low)), unreadable),
			Counts{Assets: 1, Online: 1, Failed: 1, Unknown: 1},
			map[string]int{SectionFailed: 1, SectionUnknown: 1},
		},
		"nobody could be told, for the notification is refused": {
			Asset{Name: "a", Now: refused},
			Counts{Assets: 1, Online: 1, HighRisk: 1, Failed: 1, Findings: 1, New: 1},
			map[string]int{SectionFailed: 1, SectionNewlyHigh: 1, SectionNew: 1},
		},
		"somebody is about to be told": {
			Asset{Name: "a", Now: found},
			Counts{Assets: 1, Online: 1, HighRisk: 1, Findings: 1, New: 1},
			map[string]int{SectionNewlyHigh: 1, SectionNew: 1},
		},
		"nobody could be told": {
			Asset{Name: "a", Now: untold},
			Counts{Assets: 1, Online: 1, HighRisk: 1, Failed: 1, Findings: 1, New: 1},
			map[string]int{SectionFailed: 1, SectionNewlyHigh: 1, SectionNew: 1},
		},
	} {
		r, rows := made(t, "w1", c.asset)
		if r.Counts != c.want {
			t.Errorf("%s: got %+v, want %+v", name, r.Counts, c.want)
		}
		if !reflect.DeepEqual(rows, c.rows) {
			t.Errorf("%s: got the rows %v, want %v", name, rows, c.rows)
		}
	}
}

// TestHeadsAreBounded: of many findings the most severe are kept, and counted are all.
func TestHeadsAreBounded(t *testing.T) {
	t.Parallel()
	m := New(Header{List: "nightly", Task: "w2", At: noon})
	const assets, each = 300, 200
	for i := range assets {
		list := make([]findings.Finding, each)
		for n := range list {
			list[n] = cve(i*each+n, "medium")
		}
		list[0] = cve(assets*each+i, "critical")
		if err := m.Add(Asset{Name: fmt.Sprintf("web-%03d", i), Now: scanned("x", "w2", false, list...)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.r.New.Head); n > 2*mostHead {
		t.Errorf("%d findings are kept", n)
	}
	if n := len(m.r.groups.all); n > 2*mostGroups {
		t.Errorf("%d groups are kept", n)
	}
	r := m.Report()
	if r.Counts.New != assets*each || r.New.Count != assets*each || len(r.New.Head) != mostHead {
		t.Errorf("%d new are counted, of which %d stand there", r.Counts.New, len(r.New.Head))
	}
	for i := range assets {
		if r.New.Head[i].Severity != "critical" || r.Groups[i].Severity != "critical" {
			t.Fatalf("%d of the new is %s", i, r.New.Head[i].Severity)
		}
	}
	if r.LeftGroups == 0 || len(r.Groups)+r.LeftGroups != assets*each {
		t.Errorf("%d groups, and %d left out", len(r.Groups), r.LeftGroups)
	}
	for _, room := range []int{1 << 20, 64 << 10, 10 << 10} {
		f, err := r.Facts(room)
		b, _ := json.Marshal(f)
		if err != nil || len(b) > room {
			t.Errorf("facts for %d bytes have %d: %v", room, len(b), err)
		}
		if len(f.New)+f.Omitted[SectionNew] != assets*each {
			t.Errorf("%d new and %d left out", len(f.New), f.Omitted[SectionNew])
		}
	}
}

// TestGroupsCountAssets: one finding on many assets is one group, with a few of their names.
func TestGroupsCountAssets(t *testing.T) {
	t.Parallel()
	var all []Asset
	for i := range 14 {
		f := cve(1, "critical")
		f.Package = fmt.Sprintf("openssl 3.0.%d", i)
		a := Asset{Name: fmt.Sprintf("web-%02d", i), Now: scanned("x", "w2", true, f)}
		if i < 4 {
			a.Base = a.Now
		}
		all = append(all, a)
	}
	r, _ := made(t, "w1", all...)
	if g := r.Groups[0]; len(r.Groups) != 1 || g.On != 14 || g.NewOn != 10 || g.New[0] != "web-04" || g.Where() != "web-00, web-01, web-02 and 11 more" {
		t.Errorf("got %+v", r.Groups)
	}
}

// TestNewsOfWhatIsOffline: who was offline before is listed, and no news.
func TestNewsOfWhatIsOffline(t *testing.T) {
	t.Parallel()
	for last, news := range map[*client.Ticket]bool{offline("a", "w1"): false, scanned("a", "w1", false): true, nil: true} {
		r, _ := made(t, "w1", Asset{Name: "a", Now: offline("a", "w2"), Last: last})
		f, err := r.Facts(1 << 20)
		if err != nil || f.News() != news || len(f.Unreached) != 1 || f.Counts.Unreached != 1 {
			t.Errorf("news %v, %+v (%v), want %v", f.News(), f.Unreached, err, news)
		}
	}
}

// accepting is a ticket whose findings at these places were accepted when it was assessed.
func accepting(t *client.Ticket, at string) *client.Ticket {
	risk := `{"id":"CVE-2024-0001","at":"` + at + `","reason":"not reachable from outside","until":"2026-11-30","by":"security"}`
	t.Steps[client.StepAssess] = client.Step{State: client.StateFinished, Facts: json.RawMessage(`{"condition":"kev","accepted":{"count":1,"at":"` + at + `","risks":[` + risk + `]}}`)}
	return t
}

// TestAcceptedCountsAsAccepted: it is neither new nor open, stands there with its reason, and is told again when its time is over.
func TestAcceptedCountsAsAccepted(t *testing.T) {
	t.Parallel()
	first, other := cve(1, "critical"), cve(2, "low")
	was, now := accepting(scanned("a", "w1", false, first, other), "0"), scanned("a", "w2", true, first, other)
	r, rows := made(t, "", Asset{Name: "a", Now: was})
	if c := r.Counts; c.New != 1 || c.Accepted != 1 || c.Findings != 2 || rows[SectionAccepted] != 1 || len(r.Groups) != 1 || r.Assets.Head[0].Open != 1 {
		t.Errorf("got %+v, rows %v", c, rows)
	}
	if got := r.Accepted.Head[0].whyAccepted(); got != "not reachable from outside, until 2026-11-30, by security" {
		t.Errorf("got %q", got)
	}
	r, rows = made(t, "w1", Asset{Name: "a", Now: now, Base: was})
	if c := r.Counts; c.New != 0 || c.Accepted != 0 || rows[SectionChanged] != 1 || r.Graver != 1 {
		t.Errorf("got %+v, rows %v", c, rows)
	}
	if got := r.Changed.Head[0].Difference(); got != "accepted until 2026-11-30" {
		t.Errorf("got %q", got)
	}
	r, rows = made(t, "w1", Asset{Name: "a", Now: was, Base: now})
	if got := r.Accepted.Head[0].Difference(); rows[SectionAccepted] != 1 || rows[SectionFixed] != 0 || got != "accepted now" {
		t.Errorf("got %q, rows %v", got, rows)
	}
}
