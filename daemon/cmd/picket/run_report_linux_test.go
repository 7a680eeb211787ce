// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent"
	reports "github.com/picketd/picket/agent/report"
	"github.com/picketd/picket/sockapi/client"
)

// nightly writes a list of so many assets, and scanners that find other things in the second night: what was CVE-2024-1 is fixed, CVE-2024-2 is
// new, and more are offline. Some scans fail in every night.
func nightly(t *testing.T, assets int, more string) (s scanners, list string, names []string) {
	t.Helper()
	s = newScanners(t, `n=${PICKET_ASSET#web-}
if [ $((n % 10)) = 8 ] || [ $((n % 10)) = 9 ] && [ "$PICKET_TASK" != n1 ]; then echo '{"state": "ASSET_OFFLINE"}'; else echo '{"state": "ASSET_ONLINE"}'; fi`,
		`n=${PICKET_ASSET#web-}
[ $((n % 13)) != 12 ] || { echo "no route to the scanner" >&2; exit 3; }
found=
add() { found="$found${found:+, }{\"id\": \"$1\", \"severity\": \"$2\"}"; }
[ $((n % 7)) != 0 ] || add CVE-2021-44228 critical
[ "$PICKET_TASK" != n1 ] || [ $((n % 5)) != 0 ] || add CVE-2024-1 high
[ "$PICKET_TASK" = n1 ] || [ $((n % 4)) != 1 ] || add CVE-2024-2 medium
echo "{\"findings\": [$found]}"`)
	for i := range assets {
		names = append(names, fmt.Sprint("web-", i))
	}
	list = filepath.Join(s.dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(names, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.configure(t, "retries = 0\n"+more)
	return s, list, names
}

// counted counts a report's figures again, from nothing but the assets' tickets.
func counted(t *testing.T, cl *client.Client, names []string, task, before string) (c reports.Counts) {
	t.Helper()
	found := func(task, name string) (state string, ids map[string]bool, ticket client.Ticket) {
		ticket, err := cl.Ticket(t.Context(), name, task)
		if err != nil {
			t.Fatal(err)
		}
		var facts struct {
			Findings []struct{ ID string }
		}
		if step, ok := ticket.Steps["vuln"]; ok {
			ids = map[string]bool{}
			if err := json.Unmarshal(step.Facts, &facts); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range facts.Findings {
			ids[f.ID] = true
		}
		return ticket.Steps["online"].State, ids, ticket
	}
	for _, name := range names {
		c.Assets++
		state, now, ticket := found(task, name)
		var old map[string]bool
		if before != "" {
			_, old, _ = found(before, name)
		}
		switch {
		case state == "ASSET_ONLINE":
			c.Online++
		case state == "ASSET_OFFLINE":
			c.Offline++
			c.Unreached++
		}
		if ticket.Failure != nil {
			c.Failed++
		}
		if ticket.HighRisk != nil && *ticket.HighRisk {
			c.HighRisk++
		}
		c.Findings += len(now)
		if now == nil {
			c.Unknown += len(old)
			continue
		}
		for id := range now {
			if !old[id] {
				c.New++
			}
		}
		for id := range old {
			if !now[id] {
				c.Fixed++
			}
		}
	}
	return c
}

// reported waits until people have got the report, once, and returns what they got.
func reported(t *testing.T, hook *webhook, task string) (facts reports.Facts) {
	t.Helper()
	key := `"list%3Anightly/` + task + `"`
	bodies := map[string]bool{}
	eventually(t, "the report "+task+" is told", func() bool {
		for _, got := range hook.got() {
			if got.key == key {
				bodies[string(got.body)] = true
			}
		}
		return len(bodies) > 0
	})
	var body struct {
		Data struct {
			Title, Text, Severity string
			Facts                 reports.Facts
		}
	}
	for one := range bodies {
		if err := json.Unmarshal([]byte(one), &body); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 1 || body.Data.Title == "" || !strings.Contains(body.Data.Text, " online, ") {
		t.Errorf("%d different messages: %v", len(bodies), bodies)
	}
	return body.Data.Facts
}

// TestG9_TwoNightsOfAListGiveTwoReports: over three hosts, of which one dies in the first night while it scans, and in the second the one that gathers.
// Whoever reads the messages reads the figures that are in the tickets.
func TestG9_TwoNightsOfAListGiveTwoReports(t *testing.T) {
	t.Parallel()
	hook := startWebhook(t)
	hosts := startHosts(t, hook.channel(), "scan-01", "scan-02", "scan-03", "scan-04")
	s, list, names := nightly(t, 120, "[notification]\neach = \"none\"\n[report]\nname = \"nightly\"\n")
	cl := client.New(hosts[3].socket)
	t.Cleanup(cl.CloseIdleConnections)
	night := func(task string, hosts []*host) (runs []*runner) {
		for _, h := range hosts {
			runs = append(runs, s.start(t, h, "--assets", list, "--task", task, "--heartbeat", "12s", "--again"))
		}
		return runs
	}
	check := func(task, before string) {
		t.Helper()
		facts, want := reported(t, hook, task), counted(t, cl, names, task, before)
		if facts.Counts != want {
			t.Errorf("%s tells %+v, and the tickets %+v", task, facts.Counts, want)
		}
		ticket, err := cl.Ticket(t.Context(), "list:nightly", task)
		if err != nil || ticket.Flow != client.FlowListReport || ticket.HighRisk != nil {
			t.Errorf("the report's ticket is %s, %v", asJSON(t, ticket), err)
		}
	}

	runs := night("n1", hosts[:3])
	eventually(t, "the list is worked on", func() bool { return len(s.calls("vuln")) > len(names)/4 })
	hosts[0].kill()
	_ = runs[0].cmd.Process.Kill()
	runs[1].wait(t, exitFailed) // some scans fail in every night
	runs[2].wait(t, exitFailed)
	check("n1", "")

	runs = night("n2", hosts[1:])
	gatherer := ""
	for end := time.Now().Add(2 * time.Minute); gatherer == "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		ticket, err := cl.Ticket(t.Context(), "list:nightly", "n2")
		if err == nil && ticket.Holder != nil {
			gatherer = ticket.Holder.Host
		}
	}
	for i, h := range hosts[1:] {
		if fmt.Sprintf("scan-%02d", i+2) == gatherer {
			_ = runs[i].cmd.Process.Kill()
			ticket, err := cl.Ticket(t.Context(), "list:nightly", "n2")
			t.Logf("%s died when the report was in %s, %v", gatherer, ticket.State, err)
			if i < 2 { // the last one's daemon is asked here
				h.kill()
			}
		}
	}
	for i, r := range runs {
		if fmt.Sprintf("scan-%02d", i+2) != gatherer {
			r.wait(t, exitFailed)
		}
	}
	check("n2", "n1")
	for _, got := range hook.got() {
		if !strings.Contains(got.key, "list%3A") {
			t.Errorf("%s is told by itself", got.key)
		}
	}
	left, err := cl.Ticket(t.Context(), "web-0", "n2")
	var facts struct {
		LeftTo string `json:"left_to"`
	}
	if err == nil {
		err = json.Unmarshal(left.Steps["assess"].Facts, &facts)
	}
	if err != nil || facts.LeftTo != "list:nightly/n2" || left.Notification != nil || left.HighRisk == nil || !*left.HighRisk {
		t.Errorf("the ticket of a high risk is %s, %v", asJSON(t, left), err)
	}
	task, err := cl.Task(t.Context(), "n2")
	if err != nil || task.Task.Total != int64(len(names)) {
		t.Errorf("the task is %+v, %v", task.Task, err)
	}
	again := night("n2", hosts[3:])[0]
	again.wait(t, exitFailed)
	results := again.results(t)
	if last := results[len(results)-1]; last.Asset != "list:nightly" || last.Outcome != agent.Done || !last.Skipped {
		t.Errorf("of a report that is made it says %+v", last)
	}
}
