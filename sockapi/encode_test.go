// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// exactly decodes JSON that must have no field that v has not, and encodes v again.
func exactly(t *rapid.T, wire []byte, v any) []byte {
	d := json.NewDecoder(bytes.NewReader(wire))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, wire)
	}
	var again bytes.Buffer
	e := json.NewEncoder(&again)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return again.Bytes()
}

var (
	anyText = rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.SampledFrom([]string{"", "<&>", "\u2028", "\x00\n\"\\", "资产"}))
	anyTime = rapid.Map(rapid.Int64Range(0, 4e18), func(n int64) time.Time { return time.Unix(0, n) })
	anyFact = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(`{"a":[1.0,"<",12345678901234567]}`)})
)

func drawTicket(t *rapid.T) store.Ticket {
	text := func(label string) string { return anyText.Draw(t, label) }
	at := func(label string) time.Time { return anyTime.Draw(t, label) }
	k := store.Ticket{
		ID:   store.ID(store.Asset(text("asset")), text("task")),
		Flow: text("flow"), State: store.State(text("state")), Token: rapid.Int64().Draw(t, "token"), Run: rapid.Int64().Draw(t, "run"),
		Revision: rapid.Int64().Draw(t, "revision"), Summary: text("summary"), CreatedAt: at("created"), UpdatedAt: at("updated"),
	}
	k.Steps = rapid.MapOfN(anyText, rapid.Custom(func(t *rapid.T) store.Step {
		return store.Step{
			State: "S", Facts: anyFact.Draw(t, "facts"), Summary: anyText.Draw(t, "summary"), Token: rapid.Int64().Draw(t, "token"),
			Host: anyText.Draw(t, "host"), At: anyTime.Draw(t, "at"),
		}
	}), 0, 3).Draw(t, "steps")
	k.Delivery = rapid.MapOfN(anyText, rapid.Custom(func(t *rapid.T) store.Delivery {
		return store.Delivery{
			Status: outbox.Status(anyText.Draw(t, "status")), Attempts: rapid.Int64().Draw(t, "attempts"),
			At: rapid.OneOf(anyTime, rapid.Just(time.Time{})).Draw(t, "at"), Host: anyText.Draw(t, "host"), Error: anyText.Draw(t, "error"),
		}
	}), 0, 3).Draw(t, "delivery")
	if rapid.Bool().Draw(t, "failed") {
		k.Failure = &store.Failure{Step: text("step"), Error: text("error"), Count: 2, Final: rapid.Bool().Draw(t, "final"), At: at("failed at")}
	}
	if rapid.Bool().Draw(t, "told") {
		k.Notification = &store.Notification{
			Title: text("title"), Text: text("text"), Severity: text("severity"), Facts: anyFact.Draw(t, "facts"),
			Channels: rapid.SliceOfN(anyText, 0, 3).Draw(t, "channels"), At: at("told at"),
		}
	}
	if rapid.Bool().Draw(t, "held") {
		k.Holder = &store.Holder{Host: text("host"), PID: 7, UID: rapid.Uint32().Draw(t, "uid"), Task: text("task"), Since: at("since"), Remaining: time.Second}
	}
	return k
}

// TestTicketsAreTheClientsTypes: what is written by hand is byte for byte what encoding/json makes of package client's types,
// so no field is missing, too many, or of another form.
func TestTicketsAreTheClientsTypes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := drawTicket(t)
		for _, c := range []struct {
			body appender
			into any
		}{
			{&ticketBody{ticket: k}, &client.TicketBody{}},
			{&ticketBody{k, &besideStep{Next: []client.Next{}, Replayed: true}}, &client.StepResponse{}},
			{&ticketBody{k, &besideFailure{Next: []client.Next{}}}, &client.FailureResponse{}},
			{&ticketBody{k, &besideNotification{true}}, &client.NotificationResponse{}},
			{&ticketList{store.TicketPage{Tickets: []store.Ticket{k, k}, Cursor: anyText.Draw(t, "cursor"), Incomplete: true}}, &client.TicketList{}},
			{&ticketList{}, &client.TicketList{}},
		} {
			wire, err := c.body.appendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if again := exactly(t, wire, c.into); !bytes.Equal(again, wire) {
				t.Fatalf("got\n%s\nencoding/json makes\n%s", wire, again)
			}
		}
		wire, err := (&ticketBody{k, &besideClaim{Next: []client.Next{}}}).appendJSON(nil) // here the order is another
		if err != nil {
			t.Fatal(err)
		}
		var got client.ClaimResponse
		exactly(t, wire, &got)
		if got.Claim != nil || got.Next == nil || !reflect.DeepEqual(got.Ticket.Token, k.Token) {
			t.Fatalf("got %+v", got)
		}
	})
}
