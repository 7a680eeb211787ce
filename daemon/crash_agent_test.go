// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"testing"

	"github.com/picketd/picket/sockapi/client"
)

// What the agents of these tests examine, but for those that examine much.
const (
	theAsset  = "web-01"
	theTask   = "t1"
	theTicket = theAsset + "/" + theTask
)

// atRisk claims an asset, takes its ticket to HIGH_RISK_FOUND if it is not there yet, and returns the claim.
func atRisk(ctx context.Context, c *client.Client, asset string) (claim string, err error) {
	return riskUnder(ctx, c, client.ClaimRequest{Asset: asset, Task: theTask, Heartbeat: "1m"})
}

// riskUnder is atRisk for a claim of one's own making.
func riskUnder(ctx context.Context, c *client.Client, ask client.ClaimRequest) (claim string, err error) {
	granted, err := c.Claim(ctx, ask)
	if err != nil || granted.Claim == nil {
		return "", err
	}
	for _, s := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline},
		{Step: client.StepVuln, State: client.StateVulnCheckDone},
		{Step: client.StepAssess, State: client.StateHighRiskFound},
	} {
		if _, done := granted.Ticket.Steps[s.Step]; done {
			continue
		}
		if _, err := c.Step(ctx, granted.Claim.ID, s); err != nil {
			return "", err
		}
	}
	return granted.Claim.ID, nil
}

// mustRisk is atRisk where nothing may go wrong.
func mustRisk(t *testing.T, c *client.Client) (claim string) {
	t.Helper()
	claim, err := atRisk(t.Context(), c, theAsset)
	if err != nil || claim == "" {
		t.Fatalf("got claim %q, %v", claim, err)
	}
	return claim
}

// tell is a notification with a title.
func tell(title string) client.NotificationRequest {
	return client.NotificationRequest{Title: title, Text: "It runs.", Severity: client.SeverityCritical}
}

// accepted demands that a notification is accepted; replayed says whether it was before.
func accepted(t *testing.T, c *client.Client, claim, title string, replayed bool) {
	t.Helper()
	got, err := c.Notify(t.Context(), claim, tell(title), 0)
	if err != nil {
		t.Fatalf("not accepted: %v", err)
	}
	if got.Replayed != replayed {
		t.Errorf("replayed is %v, want %v", got.Replayed, replayed)
	}
}

// refused demands that the call ends without an answer, because its daemon did.
func refused(t *testing.T, c *client.Client, claim, title string) {
	t.Helper()
	if got, err := c.Notify(t.Context(), claim, tell(title), 0); err == nil {
		t.Fatalf("a daemon that crashed before has accepted: %+v", got)
	}
}

// delivered waits until the ticket has left NOTIFYING by delivery, and demands a whole history with one receipt a channel.
func delivered(t *testing.T, c *client.Client, asset string) client.Ticket {
	t.Helper()
	ticket := notified(t, c, asset)
	if n := count(wholeHistory(t, c, asset), "receipt"); n != len(ticket.Delivery) {
		t.Errorf("%s has %d receipts for %d channels", asset, n, len(ticket.Delivery))
	}
	return ticket
}

// notified waits until the ticket has left NOTIFYING by delivery.
func notified(t *testing.T, c *client.Client, asset string) client.Ticket {
	t.Helper()
	var ticket client.Ticket
	eventually(t, asset+" is NOTIFIED or FINISHED", func() bool {
		var err error
		ticket, err = c.Ticket(t.Context(), asset, theTask)
		return err == nil && (ticket.State == client.StateNotified || ticket.State == client.StateFinished)
	})
	for name, d := range ticket.Delivery {
		if d.Status != client.DeliverySent {
			t.Errorf("%s is %s on channel %s", asset, d.Status, name)
		}
	}
	return ticket
}

func count(events []client.Event, name string) (n int) {
	for _, e := range events {
		if e.Event == name {
			n++
		}
	}
	return n
}

// wholeHistory demands that a ticket's events are numbered without a gap up to its revision.
func wholeHistory(t *testing.T, c *client.Client, asset string) []client.Event {
	t.Helper()
	ticket, err := c.Ticket(t.Context(), asset, theTask)
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.History(t.Context(), asset, theTask)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range h.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d of %s has seq %d", i+1, asset, e.Seq)
		}
	}
	if int64(len(h.Events)) < ticket.Revision {
		t.Errorf("%s has %d events and revision %d", asset, len(h.Events), ticket.Revision)
	}
	return h.Events
}
