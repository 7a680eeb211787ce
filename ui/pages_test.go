// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// every is an address of each page.
var every = []string{
	"/", "/waiting", "/tasks", "/tickets", "/tickets?task=t&asset=web-*&state=FAILED&host=h&since=1h&high_risk=true", "/reports", "/claims",
	"/ticket?asset=a&task=t", "/act?do=retry&asset=a&task=t&channel=ops", "/act?do=break&asset=a",
}

// hostileText is what scanners, hosts and receivers may say.
const hostileText = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>javascript:alert(3)\u202etxt.exe\u2066\x07\u200b{{.}}"

// fill sets everything in v that can be shown: texts to s, numbers to 3, and one element in each list and map.
func fill(v reflect.Value, s string) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		finding, _ := json.Marshal(map[string]any{"findings": []any{map[string]any{"id": s, "severity": "critical", "cvss": 9.8, "title": s, "package": s, "location": s, "fixed_in": s, "url": "javascript:alert(4)"}}})
		v.SetBytes(finding)
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Now()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint32:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), s)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{s, "vuln", "assess"} {
			one := reflect.New(v.Type().Elem()).Elem()
			fill(one, s)
			v.SetMapIndex(reflect.ValueOf(key), one)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), s)
			}
		}
	}
}

func filled[T any](s string) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), s)
	return v
}

// hostile has the daemon answer with a text in every field.
func (l *look) hostile(s string) {
	l.fake.set("/v1/status", filled[client.Status](s))
	l.fake.set("/v1/hosts", filled[client.HostList](s))
	l.fake.set("/v1/tasks", filled[client.TaskList](s))
	l.fake.set("/v1/tasks/t", filled[client.TaskBody](s))
	l.fake.set("/v1/tickets", filled[client.TicketList](s))
	l.fake.set("/v1/tickets/a/t", filled[client.TicketBody](s))
	l.fake.set("/v1/tickets/a/t/history", filled[client.History](s))
	l.fake.set("/v1/claims", filled[client.ClaimList](s))
	outbox := filled[client.IntentList](s)
	for name, d := range outbox.Intents[0].Channels {
		d.Status = client.DeliveryParked
		outbox.Intents[0].Channels[name] = d
	}
	l.fake.set("/v1/outbox", outbox)
}

// What others say stands in the pages as text, and can neither act nor hide.
func TestHostileTextsAreShownAsTexts(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.hostile(hostileText)
	ours := regexp.MustCompile(`<(script src="/page.js" defer)?>|<link rel="(icon|stylesheet)"`)
	for _, path := range every {
		body := ours.ReplaceAllString(l.shows(path), "")
		for _, bad := range []string{"<script", "<img", `href="javascript:`, `href="#ZgotmplZ`, "\u202e", "\u2066", "\u200b", "\x07", " style=", " onclick="} {
			if i := strings.Index(body, bad); i >= 0 {
				t.Errorf("%s holds %q: %s", path, bad, body[max(0, i-80):min(len(body), i+80)])
			}
		}
	}
	l.shows("/ticket?asset=a&task=t", `\u202e`, "&lt;script&gt;", "javascript:alert(4)")
}

// A text of 10 KB in every field, names too, makes no page larger than a megabyte.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.hostile(strings.Repeat("long ", 2000))
	for _, path := range every {
		if body := l.shows(path); len(body) > 1<<20 {
			t.Errorf("%s has %d bytes", path, len(body))
		}
	}
}

func TestFleetTellsWhatIsWrongFirst(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	now := time.Now()
	hosts := client.HostList{}
	for i := range 60 {
		hosts.Hosts = append(hosts.Hosts, client.Host{
			ID: fmt.Sprint(i), Host: fmt.Sprintf("scan-%02d", i), Alive: i != 41, SignedAt: &now, Pending: 2,
			Warnings: []client.Warning{{Name: "redis_settings", Message: "Redis writes nothing to disk"}},
		})
	}
	hosts.Hosts[7].Parked = 3
	l.fake.set("/v1/hosts", hosts)
	body := l.shows("/", "59 <small>of 60", "3 notifications wait for a person", "scan-00, scan-01, scan-02 and 56 more", "writes nothing to disk")
	if down, warned := strings.Index(body, "<strong>scan-41</strong> is down"), strings.Index(body, "redis_settings:"); down < 0 || warned < down {
		t.Error("the host that is down does not stand before the warnings")
	}
	if strings.Count(body, "writes nothing to disk</span>") != 1 {
		t.Error("the same warning of many hosts is told more than once")
	}
	if first := strings.Index(body, `<tr class="down">`); first < 0 || first > strings.Index(body, ">scan-00</a>") {
		t.Error("the host that is down is not the first of the table")
	}
}

// While Redis is away, the page tells so, and what the daemon knows by itself.
func TestFleetWithoutRedis(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/status", client.Status{Host: "scan-01", Checks: []client.Check{{Name: "redis", Error: "connection refused"}}})
	l.fake.set("/v1/hosts", &client.Problem{Code: client.StoreUnavailable, Detail: "Redis does not answer"})
	l.shows("/", "cannot serve, for redis: connection refused", "The other hosts are not known now: Redis does not answer", "Only this host is shown")
	l.fake.set("/v1/tickets", &client.Problem{Code: client.StoreUnavailable, Detail: "Redis does not answer"})
	if status, body := l.get("/tickets"); status != http.StatusServiceUnavailable || !strings.Contains(body, "Redis does not answer") {
		t.Errorf("tickets without Redis: %d", status)
	}
}

func TestDaemonIsAway(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	_ = l.fake.server.Close()
	for _, path := range every {
		status, body := l.get(path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "cannot reach the daemon") || !strings.Contains(body, "picket doctor") {
			t.Errorf("%s: %d: %s", path, status, body)
		}
	}
	resp, body := l.post("/act?do=break&asset=a", url.Values{"reason": {"my reason"}})
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "cannot reach the daemon") {
		t.Errorf("a decision: %d: %s", resp.StatusCode, body)
	}
	l.fake.start(t)
	l.shows("/")
}

// parked are tickets in NOTIFYING with a notification that waits for a person.
func parked(n int) (list client.TicketList) {
	at := time.Now().Add(-time.Hour)
	for i := range n {
		list.Tickets = append(list.Tickets, client.Ticket{
			ID: fmt.Sprintf("web-%04d/w48", i), Asset: fmt.Sprintf("web-%04d", i), Task: "w48", State: client.StateNotifying,
			Notification: &client.Notification{Title: "critical"}, Delivery: map[string]client.Delivery{"pager": {Status: client.DeliveryParked, At: &at}},
		})
	}
	return list
}

func TestWaitingPagesThroughAThousand(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/tickets", parked(1000))
	seen := map[string]bool{}
	rows := regexp.MustCompile(`>(web-\d+)/w48</a>`)
	next := regexp.MustCompile(`href="([^"]*from=\d+[^"]*)">Next`)
	path := "/waiting"
	for range 20 {
		body := l.shows(path, "of 1\u00a0000")
		undecided, _, _ := strings.Cut(body, "Stuck tickets")
		for _, m := range rows.FindAllStringSubmatch(undecided, -1) {
			seen[m[1]] = true
		}
		m := next.FindStringSubmatch(body)
		if m == nil {
			break
		}
		path = m[1]
	}
	if len(seen) != 1000 {
		t.Errorf("the pages have %d notifications", len(seen))
	}
}

// A decision is the daemon's call with the reason, and leads to where it is shown.
func TestDecisionsAreTheDaemonsCalls(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	const asset = "rack:7/../a b"
	for _, d := range decisions {
		path := map[string]string{"break": "/v1/locks/" + asset + "/break", "reopen": "/v1/tickets/" + asset + "/t/reopen"}[d.Name]
		if path == "" {
			path = "/v1/outbox/" + asset + "/t/" + d.Name
		}
		l.fake.set(path, client.TicketBody{})
		address := link("/act", "do", d.Name, "asset", asset, "task", "t", "channel", "ops")
		l.shows(address, d.Label, strings.ReplaceAll(d.Explains, "'", "&#39;"), "<textarea")
		resp, body := l.post(address, url.Values{"reason": {"because"}})
		if location := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(location, "/ticket?asset=rack") {
			t.Errorf("%s: %d to %q: %s", d.Name, resp.StatusCode, location, body)
		}
		l.fake.set("/v1/tickets/"+asset+"/t", client.TicketBody{})
		l.fake.set("/v1/tickets/"+asset+"/t/history", client.History{})
		_, first := l.get(resp.Header.Get("Location"))
		if _, again := l.get(resp.Header.Get("Location")); !strings.Contains(first, d.Done) || strings.Contains(again, d.Done) {
			t.Errorf("%s: it is not told once that it is done", d.Name)
		}
		last := l.fake.posted[len(l.fake.posted)-1]
		if !strings.Contains(last, `"reason":"because"`) || !strings.Contains(last, d.Name) {
			t.Errorf("%s: the call is %s", d.Name, last)
		}
	}
	for _, address := range []string{"/act", "/act?do=retry&asset=a", "/act?do=drop&asset=a&task=t"} {
		if status, _ := l.get(address); status == http.StatusOK {
			t.Errorf("%s is a decision", address)
		}
		if resp, _ := l.post(address, url.Values{"reason": {"x"}}); resp.StatusCode == http.StatusSeeOther {
			t.Errorf("%s is decided", address)
		}
	}
}

// Who may not decide sees no buttons, and is refused all the same.
func TestWhoMayNotDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ readOnly, admin bool }{{true, true}, {false, false}} {
		l := setup(t, c.readOnly)
		l.fake.set("/v1/status", client.Status{Host: "scan-01", Admin: c.admin})
		list := parked(1)
		list.Tickets[0].Holder = &client.Holder{Host: "scan-02"}
		l.fake.set("/v1/tickets", list)
		list.Tickets[0].State = client.StateFailed
		l.fake.set("/v1/tickets/a/t", client.TicketBody{Ticket: list.Tickets[0]})
		l.fake.set("/v1/tickets/a/t/history", client.History{})
		l.fake.set("/v1/outbox/a/t/retry", &client.Problem{Code: client.Forbidden, Detail: "only root and admins may"})
		for _, path := range []string{"/waiting", "/claims", "/ticket?asset=a&task=t"} {
			if body := l.shows(path); strings.Contains(body, "/act") {
				t.Errorf("%+v: %s offers a decision", c, path)
			}
		}
		address := "/act?do=retry&asset=a&task=t"
		if status, body := l.get(address); status == http.StatusOK || strings.Contains(body, "<form") {
			t.Errorf("%+v: the form is there: %d", c, status)
		}
		resp, body := l.post(address, url.Values{"reason": {"x"}})
		if resp.StatusCode == http.StatusSeeOther || c.readOnly && len(l.fake.posted) > 0 || !c.readOnly && !strings.Contains(body, "only root and admins may") {
			t.Errorf("%+v: it is decided: %d, %v", c, resp.StatusCode, l.fake.posted)
		}
	}
}

// A finding that did not count is shown as accepted, with why; the one beside it is not.
func TestAcceptedFindingsAreMarked(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/tickets/a/t", client.TicketBody{Ticket: client.Ticket{Asset: "a", Task: "t", Steps: map[string]client.Step{
		client.StepVuln: {Facts: []byte(`{"count":2,"findings":[{"id":"CVE-2024-1","severity":"critical"},{"id":"CVE-2024-2","severity":"high"}]}`)},
		client.StepAssess: {Facts: []byte(`{"high_risk":false,"condition":"critical > 0","parts":[],"accepted":{"count":1,"at":"0",` +
			`"risks":[{"id":"CVE-2024-1","at":"0","reason":"not reachable","by":"security","until":"2027-01-31"}],"files":[]}}`)},
	}}})
	l.fake.set("/v1/tickets/a/t/history", client.History{})
	body := l.shows("/ticket?asset=a&task=t", "Accepted by security until 2027-01-31: not reachable", "CVE-2024-2")
	if n := strings.Count(body, `<span class="badge">accepted</span>`); n != 1 {
		t.Errorf("%d findings are marked as accepted", n)
	}
}

// Filters are in the address, and what follows keeps them.
func TestFiltersAreInTheAddress(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/tickets", client.TicketList{Cursor: "more", Tickets: parked(2).Tickets})
	l.fake.set("/v1/tasks/w48", client.TaskBody{Task: client.Task{Task: "w48", Total: 10, States: map[string]int64{client.StateFinished: 4}, PerMinute: 2}})
	body := l.shows("/tickets?task=w48&state=NOTIFYING&asset=web-*&high_risk=true", `value="web-*"`, "<option selected>NOTIFYING", `name="high_risk" value="true" checked`, "40 %", "about 3 min left")
	for _, want := range []string{"task=w48", "state=NOTIFYING", "asset=web-%2A", "high_risk=true", "cursor=more"} {
		older := regexp.MustCompile(`href="([^"]*)">Older`).FindStringSubmatch(body)
		if older == nil || !strings.Contains(older[1], want) {
			t.Errorf("the next page lacks %s: %v", want, older)
		}
	}
	if status, body := l.get("/tickets?since=-3"); status == http.StatusOK || !strings.Contains(body, "such as 1h") {
		t.Errorf("a wrong since: %d", status)
	}
}

// A report is shown as it is under its own policy, behind the cookie; why one cannot be read is told.
func TestReportsHaveTheirOwnPolicy(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.server.book.report = func(_ context.Context, w io.Writer, list, task string) (string, error) {
		if task != "w48" {
			return "", errors.New("there is no such report")
		}
		fmt.Fprintf(w, "<style>b{}</style><b>%s</b>", list)
		return "default-src 'none'; style-src 'sha256-x'", nil
	}
	l.serve() // with reports
	resp, err := l.browser.Get(l.root + "/?secret=" + l.server.secret)
	must(t, err)
	resp.Body.Close()
	l.shows("/report?list=nightly&task=w48", "<b>nightly</b>")
	if got := l.request("GET", "/report?list=nightly&task=w48", "", nil).Header["Content-Security-Policy"]; len(got) != 1 || got[0] != "default-src 'none'; style-src 'sha256-x'; frame-ancestors 'none'" {
		t.Errorf("the policy is %q", got)
	}
	if status, body := l.get("/report?list=nightly&task=w47"); status == http.StatusOK || !strings.Contains(body, "there is no such report") || !strings.Contains(body, "<h1>Reports") {
		t.Errorf("a report that is not there: %d", status)
	}
	l.browser.Jar = nil
	if resp := l.request("GET", "/report?list=nightly&task=w48", "", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("without the cookie: %d", resp.StatusCode)
	}
}

// Times are Redis', whatever this machine's clock says.
func TestTimesAreOfRedis(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	offset := int64(3_600_000)
	l.fake.set("/v1/status", client.Status{Host: "scan-01", Redis: client.RedisStatus{ClockOffsetMS: &offset}})
	signed := time.Now().Add(time.Hour - 7*time.Second)
	l.fake.set("/v1/hosts", client.HostList{Hosts: []client.Host{{ID: "A", Host: "scan-01", Alive: true, SignedAt: &signed}}})
	if body := l.shows("/"); !regexp.MustCompile(`title="[^"]+ UTC">([7-9]|\d\d) s ago`).MatchString(body) {
		t.Errorf("the sign of life is not some seconds old:\n%s", body)
	}
}
