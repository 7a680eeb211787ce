// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package verdict

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// What refused is the reason of FAILED, and not what the assessment found.
func TestTheReasonOfFailedIsWhatRefused(t *testing.T) {
	t.Parallel()
	for want, delivery := range map[string]map[string]client.Delivery{
		"people were not told (ops: dead: HTTP 400 from https://h)":          {"ops": {Status: client.DeliveryDead, Error: "HTTP 400 from https://h"}},
		"not all were told (mail: sent; ops: dead: HTTP 400 from https://h)": {"ops": {Status: client.DeliveryDead, Error: "HTTP 400 from https://h"}, "mail": {Status: client.DeliverySent}},
	} {
		ticket := client.Ticket{State: client.StateFailed, Summary: "high risk: kev", Notification: &client.Notification{}, Delivery: delivery}
		if got := WhyFailed(ticket); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Where an earlier ticket told people on another channel, the refusal of those left is told as that.
func TestAFailedRepetitionSaysWhoWasTold(t *testing.T) {
	t.Parallel()
	ticket := client.Ticket{
		State: client.StateFailed, Notification: &client.Notification{},
		Steps: map[string]client.Step{client.StepAssess: {
			State: client.StateHighRiskFound,
			Facts: json.RawMessage(`{"condition":"kev","high_risk":true,"told_by":{"ticket":"web-01/t0","at":"2026-11-30T01:02:03Z","repeat":"7d","on":["ops"],"open":["mail"]}}`),
		}},
		Delivery: map[string]client.Delivery{"mail": {Status: client.DeliveryDead, Error: "550 no"}},
	}
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC).Format(TimeForm)
	if got, want := WhyFailed(ticket), "not all were told (mail: dead: 550 no); web-01/t0 told the others at "+at; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	words := strings.Join(Why(ticket).Words, "\n")
	for _, want := range []string{"People are to be told again only by mail", "Nobody else was told (mail: dead: 550 no)"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in\n%s", want, words)
		}
	}
}
