// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package draw

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/proof/check"
	"github.com/picketd/picket/proof/history"
)

// example is a history in which two claims are trusted at once, with one record of each kind.
func example() ([]history.Record, []check.Violation) {
	ms := func(n int) int64 { return time.Hour.Nanoseconds() + int64(n)*int64(time.Millisecond) }
	claim := func(host string, token, at int) []history.Record {
		id, by := fmt.Sprint("c", token), "agent "+host+"/1.1"
		return []history.Record{
			{At: ms(at), By: by, Call: &history.Call{ID: id, Host: host, Method: "POST", Path: "/v1/claims", Body: json.RawMessage(`{"asset":"web-01","task":"<t1>"}`)}},
			{At: ms(at + 40), By: by, Answer: &history.Answer{ID: id, Status: 201, Body: json.RawMessage(fmt.Sprintf(
				`{"claim":{"token":%d,"status":"held","trusted_ms":1600},"ticket":{"state":"INIT","run":1}}`, token))}},
		}
	}
	all := []history.Record{{At: 1, By: "main", Setup: &history.Setup{Topology: "standalone", Profile: "kept", Seed: 7, TTLMS: 2000}}}
	all = append(all, claim("host-a", 1001, 0)...)
	all = append(all,
		history.Record{At: ms(300), By: "nemesis", Fault: &history.Fault{ID: 1, Name: "redis freezes", Target: "redis-1"}},
		history.Record{At: ms(350), By: "journal", Audit: &history.Audit{Host: "host-a", Fields: map[string]string{"PICKET_SEQ": "3", "PICKET_EVENT": "claimed"}}},
		history.Record{At: ms(500), By: "agent host-c/1.1", Call: &history.Call{ID: "open", Host: "host-c", Method: "GET", Path: "/v1/status"}},
		history.Record{At: ms(700), By: "nemesis", Fault: &history.Fault{ID: 1, Name: "redis freezes", Target: "redis-1", End: true}},
		history.Record{At: ms(800), By: "agents", Process: &history.Process{PID: 4, Host: "host-c", Kind: "agent", End: true}},
	)
	all = append(all, claim("host-b", 1002, 900)...)
	all = append(all, history.Record{At: ms(9000), By: "receiver", Sending: &history.Sending{Channel: "ops", Host: "host-a", Key: `"web-01/t1"`, Title: "x", Begin: ms(8800), Status: 500}})
	return all, []check.Violation{{Guarantee: "G1", Ticket: "web-01", Text: "both were <trusted>", Records: []int{1, 2, 8, 9}}}
}

func draw(t *testing.T, records []history.Record, violations []check.Violation) string {
	t.Helper()
	var page strings.Builder
	if err := HTML(&page, records, violations); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestThePageTellsAndMarksWhatBreaksAGuarantee(t *testing.T) {
	t.Parallel()
	records, violations := example()
	page := draw(t, records, violations)
	for _, want := range []string{
		"<h1>G1 on web-01</h1>", "both were &lt;trusted&gt;", "standalone, kept, seed 7", "11 of 11 records", "agent host-a/1.1", "agent host-b/1.1 (trusted)",
		"fault: redis freezes", "receiver ops", "audit host-a", "agent of host-c", "no answer", ">7.9s<", "prefers-color-scheme: dark",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for mark := 1; mark <= 4; mark++ {
		if !strings.Contains(page, fmt.Sprintf(`<b class="n">%d</b>`, mark)) {
			t.Errorf("record %d is not in the list", mark)
		}
	}
	if n := strings.Count(page, ` mark" x=`); n != 2 {
		t.Errorf("%d bars are marked: a call and its answer are one", n)
	}
	if outside := regexp.MustCompile(`(?i)<script|<link|src=|href=|https?:|@import|url\(`).FindString(page); outside != "" {
		t.Errorf("the page needs %q from elsewhere", outside)
	}
	if err := os.WriteFile(t.ArtifactDir()+"/page.html", []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutAViolationThePageSaysSo(t *testing.T) {
	t.Parallel()
	all, _ := example()
	for _, records := range [][]history.Record{all, all[:1], nil} {
		if page := draw(t, records, nil); !strings.Contains(page, "No violation") || !strings.Contains(page, "</html>") {
			t.Errorf("of %d records: %s", len(records), page)
		}
	}
}

func TestALongHistoryIsDrawnInPart(t *testing.T) {
	t.Parallel()
	all, violations := example()
	last := all[len(all)-1]
	for n := range 20 * most {
		last.At += int64(time.Millisecond)
		all = append(all, last)
		if n == 2*most {
			violations[0].Records = append(violations[0].Records, len(all)-1)
		}
	}
	page := draw(t, all, violations)
	if bars := strings.Count(page, "<title>"); bars > most+20 || bars < most/2 {
		t.Errorf("%d bars are drawn of %d records", bars, len(all))
	}
	if n := strings.Count(page, ` mark" x=`); n != 3 {
		t.Errorf("%d bars are marked of 3", n)
	}
}
