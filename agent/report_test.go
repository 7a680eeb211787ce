// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/sockapi/client"
)

// TestAReportInAFileIsWholeRecentAndOfTheAsset: nobody saw the scanner end.
func TestAReportInAFileIsWholeRecentAndOfTheAsset(t *testing.T) {
	t.Parallel()
	const (
		line = `{"template-id":"x","info":{"name":"n","severity":"low"},"host":"%s","matched-at":"%[1]s"}` + "\n"
		nmap = `<?xml version="1.0"?><nmaprun scanner="nmap" version="7.95" xmloutputversion="1.05"><host><status state="up"/><address addr="10.0.0.1" addrtype="ipv4"/>` +
			`<hostnames><hostname name="%s" type="user"/></hostnames><ports><port protocol="tcp" portid="22"><state state="open"/></port></ports></host><runstats><finished time="%d" exit="success"/><hosts up="1" down="0" total="1"/></runstats></nmaprun>`
	)
	now := time.Now()
	for name, c := range map[string]struct {
		parse, text string
		age         time.Duration // of the file
		maxAge      string
		says        string // empty: it is used
	}{
		"lines, of this asset":   {"nuclei", fmt.Sprintf(line, "web-01"), 30 * time.Second, "", ""},
		"lines, empty":           {"nuclei", "", 30 * time.Second, "", "it is empty: that may be a scan which found nothing, or none at all"},
		"lines, blank":           {"nuclei", "\n", 30 * time.Second, "", "it is empty"},
		"lines, of no match":     {"nuclei", fmt.Sprintf(strings.Replace(line, "{", `{"matcher-status":false,`, 1), "web-01"), 30 * time.Second, "", ""},
		"lines, just now":        {"nuclei", fmt.Sprintf(line, "web-01"), -time.Hour, "", "it was written to just now"},
		"lines, of another":      {"nuclei", fmt.Sprintf(line, "web-02"), 30 * time.Second, "", "it is of another asset: it says web-02"},
		"a document, just now":   {"nmap", fmt.Sprintf(nmap, "web-01", now.Unix()), 0, "", ""},
		"a document, of another": {"nmap", fmt.Sprintf(nmap, "web-02", now.Unix()), 0, "", "it is of another asset"},
		"an old scan, copied":    {"nmap", fmt.Sprintf(nmap, "web-01", now.Add(-time.Hour).Unix()), 0, "", "and older than its ticket: set max_age if that is right"},
		"an old scan, allowed":   {"nmap", fmt.Sprintf(nmap, "web-01", now.Add(-time.Hour).Unix()), 0, "2h", ""},
		"older than allowed":     {"nmap", fmt.Sprintf(nmap, "web-01", now.Add(-time.Hour).Unix()), 0, "30m", "and older than max_age"},
		"an old file":            {"findings", `{"findings": []}`, time.Hour, "", "and older than its ticket"},
		"of nobody":              {"findings", `{"findings": []}`, 0, "", ""},
		"in own form, of nobody": {"", `{"state": "VULN_CHECK_DONE", "facts": {"findings": []}}`, 0, "", ""},
		"half":                   {"findings", `{"findings": [`, 0, "", "it was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "web-01")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, now.Add(-c.age)); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("[step.vuln]\nfile = \"%s/{{.Asset}}\"\nparse = %q\n", dir, c.parse)
			if c.maxAge != "" {
				text += fmt.Sprintf("max_age = %q\n", c.maxAge)
			}
			j := jobOn(t, "")
			config, err := load(t, text)
			if err != nil {
				t.Fatal(err)
			}
			j.a.config, j.ticket.CreatedAt = config, now.Add(-time.Minute)
			j.a.plan, _ = config.compile(nil)
			timeout := time.Minute
			if strings.HasSuffix(name, "just now") {
				timeout = 3 * time.Second // else it would be waited for
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			got, err := j.vuln(ctx)
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.says == "" && err != nil {
				t.Errorf("%+v, %v", got, err)
			}
			if strings.HasSuffix(name, "of nobody") && !strings.Contains(got.Summary, "does not say which asset") {
				t.Errorf("it says %q", got.Summary)
			}
		})
	}
}

// TestAReportInAFileIsOfTheRunOfAReopenedTicket: what was written before it was reopened is what made somebody reopen it.
func TestAReportInAFileIsOfTheRunOfAReopenedTicket(t *testing.T) {
	t.Parallel()
	now := time.Now()
	reopened := func(ago ...time.Duration) (all []client.Event) {
		for _, one := range ago {
			all = append(all, client.Event{Event: "reopened", At: now.Add(-one)}, client.Event{Event: "claimed", At: now.Add(-one / 2)})
		}
		return all
	}
	for name, c := range map[string]struct {
		run     int64
		age     time.Duration // of the file; the ticket is of an hour ago
		maxAge  time.Duration
		history []client.Event // nil: the daemon refuses it
		says    string         // empty: it is used
	}{
		"from before":           {2, 30 * time.Minute, 0, reopened(10 * time.Minute), "older than run 2 of its ticket: set max_age if that is right"},
		"from after":            {2, 5 * time.Minute, 0, reopened(10 * time.Minute), ""},
		"from between two":      {3, 5 * time.Minute, 0, reopened(10*time.Minute, 2*time.Minute), "older than run 3 of its ticket"},
		"allowed":               {2, 30 * time.Minute, 2 * time.Hour, nil, ""},
		"of a first run":        {1, 30 * time.Minute, 0, nil, ""},
		"nobody can say":        {2, 5 * time.Minute, 0, nil, "cannot tell when the ticket was reopened"},
		"the history is silent": {2, 5 * time.Minute, 0, []client.Event{{Event: "claimed", At: now}}, "its history does not say: set max_age"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "web-01")
			if err := os.WriteFile(path, []byte(`{"findings": []}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, now.Add(-c.age)); err != nil {
				t.Fatal(err)
			}
			config, err := load(t, fmt.Sprintf("[step.vuln]\nfile = \"%s/{{.Asset}}\"\nparse = \"findings\"\n", filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			config.Step.Vuln.MaxAge = strict.Duration(c.maxAge)
			j := jobOn(t, "")
			j.a.config, j.ticket.CreatedAt, j.ticket.Run = config, now.Add(-time.Hour), c.run
			j.a.plan, _ = config.compile(nil)
			j.a.client = clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.history == nil || r.URL.Path != "/v1/tickets/web-01/w48/history" {
					w.Header().Set("Content-Type", "application/problem+json")
					w.WriteHeader(http.StatusConflict)
					_ = json.NewEncoder(w).Encode(client.Problem{Status: http.StatusConflict, Code: client.TicketDamaged})
					return
				}
				_ = json.NewEncoder(w).Encode(client.History{Events: c.history})
			}))
			_, err = j.vuln(t.Context())
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("it says %v, want %q", err, c.says)
			}
		})
	}
}
