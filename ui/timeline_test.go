// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// at is a time so many seconds after the beginning of a history.
func at(s int) time.Time { return time.Date(2026, 11, 29, 3, 0, s, 0, time.UTC) }

// frozenWriter is the history of the minute that Picket exists for.
var frozenWriter = client.History{
	Events: []client.Event{
		{Seq: 1, At: at(0), Event: "claimed", To: client.StateInit, Token: 1001, Host: "scan-01"},
		{Seq: 2, At: at(15), Event: "lost", From: client.StateInit, To: client.StateInit, Token: 1001, Host: "scan-01", Reason: client.ReasonExpired},
		{Seq: 3, At: at(15), Event: "claimed", From: client.StateInit, To: client.StateInit, Token: 1002, Host: "scan-02"},
		{Seq: 4, At: at(16), Event: "step", From: client.StateInit, To: client.StateAssetOnline, Step: "online", Token: 1002, Host: "scan-02"},
		{Seq: 5, At: at(20), Event: "finished", From: client.StateAssetOnline, To: client.StateFinished, Token: 1002, Host: "scan-02"},
	},
	Refused: []client.Event{{At: at(40), Event: "step", To: client.StateAssetOffline, Step: "online", Token: 1001, Host: "scan-01", Reason: "STALE_TOKEN", Count: 2}},
}

func TestFrozenWriterIsSeenInTheHistory(t *testing.T) {
	t.Parallel()
	got := newTimeline(frozenWriter)
	if got.Columns != 2 || len(got.Rows) != 6 {
		t.Fatalf("%d lanes and %d rows", got.Columns, len(got.Rows))
	}
	var drawn []string
	for _, row := range got.Rows {
		drawn = append(drawn, fmt.Sprint(row.Cells))
	}
	for i, want := range []string{
		"[{ live dot} {  }]", "[{live after dot} {  }]", "[{after after } { live dot}]", "[{after after } {live live dot}]",
		"[{after after } {live  dot}]", "[{after  cross} {  }]",
	} {
		if drawn[i] != want {
			t.Errorf("row %d is %s, want %s", i, drawn[i], want)
		}
	}
	if got.Rows[5].After != "20 s later" || !got.Rows[5].Refused {
		t.Errorf("the refused write: %+v", got.Rows[5])
	}
	text := "scan-01 wanted to record ASSET_OFFLINE (online) under token …1001, and was refused (STALE_TOKEN, 2 times): its claim had ended (expired) 25 s before. " +
		"scan-02 has had the newer token …1002 since 03:00:15, and what it recorded stands."
	if len(got.Refusals) != 1 || got.Refusals[0].Text != text {
		t.Errorf("it says %q", got.Refusals)
	}
}

// Many claims, one after another, share a lane; many at once share the last one.
func TestLanesAreFew(t *testing.T) {
	t.Parallel()
	var h client.History
	for i := range 1000 {
		token := int64(1000 + i)
		h.Events = append(h.Events, client.Event{At: at(2 * i), Event: "claimed", Token: token}, client.Event{At: at(2*i + 1), Event: "released", Token: token})
	}
	got := newTimeline(h)
	if got.Columns != 1 || len(got.Rows) != rowsShown || got.Older != 2000-rowsShown {
		t.Errorf("%d lanes, %d rows, %d older", got.Columns, len(got.Rows), got.Older)
	}
	for i := range 20 {
		h.Refused = append(h.Refused, client.Event{At: at(5000 + i), Event: "step", Token: int64(1990 + i)})
	}
	if got := newTimeline(h); got.Columns > columns {
		t.Errorf("%d lanes", got.Columns)
	}
}

func TestFlowShowsTheWayThatWasTaken(t *testing.T) {
	t.Parallel()
	for _, d := range draw(client.Ticket{Flow: client.FlowAssetInference, State: client.StateFinished}, frozenWriter) {
		kinds := map[string]string{}
		for _, b := range d.Boxes {
			kinds[b.State] = b.Kind
		}
		for state, want := range map[string]string{
			client.StateInit: "taken", client.StateAssetOnline: "taken", client.StateFinished: "now", client.StateNotified: "", client.StateAssetOffline: "refused",
		} {
			if kinds[state] != want {
				t.Errorf("%s: %s is %q, want %q", d.Name, state, kinds[state], want)
			}
		}
		if d.Says != "INIT, then ASSET_ONLINE, then FINISHED" || d.Wide > 1400 || d.Name == "narrow" && d.Wide > 390 {
			t.Errorf("%s: %q, %d wide", d.Name, d.Says, d.Wide)
		}
	}
}

// A flow whose form is not known is drawn as its way, and a reopened ticket as that of its newest run.
func TestUnknownFlowsAreDrawnAsTheirWay(t *testing.T) {
	t.Parallel()
	h := client.History{Events: []client.Event{
		{Event: "claimed", To: "BEGUN", Token: 1},
		{Event: "step", From: "BEGUN", To: "OLD", Token: 1},
		{Event: "reopened", From: "OLD", To: "BEGUN", Token: 1},
		{Event: "step", From: "BEGUN", To: "CHECKED", Step: "check", Token: 2},
	}}
	d := draw(client.Ticket{Flow: "cert-expiry", State: "CHECKED"}, h)[0]
	if d.Says != "BEGUN, then CHECKED" || len(d.Boxes) != 2 || len(d.Lines) != 1 || !d.Lines[0].Taken || !strings.HasPrefix(d.Lines[0].Path, "M") {
		t.Errorf("it is %+v", d)
	}
	if d := draw(client.Ticket{Flow: "cert-expiry", State: "CHECKED"}, client.History{})[0]; len(d.Boxes) != 1 {
		t.Errorf("without a history it is %+v", d)
	}
}
