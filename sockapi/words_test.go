// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// TestWords holds the client's words for a claim and a delivery against those that the engine and the outbox write.
func TestWords(t *testing.T) {
	t.Parallel()
	for client, written := range map[string]string{
		client.StatusHeld: string(engine.Held), client.StatusLost: string(engine.Lost), client.StatusReleased: string(engine.Released),

		client.ReasonProcessExit: string(engine.ReasonProcessExit), client.ReasonExpired: string(engine.ReasonExpired),
		client.ReasonTaken: string(engine.ReasonTaken), client.ReasonSilent: string(engine.ReasonSilent),
		client.ReasonMaxHold: string(engine.ReasonMaxHold), client.ReasonStoreReset: string(engine.ReasonStoreReset),
		client.ReasonForced: string(engine.ReasonForced),

		client.DeliveryPending: string(outbox.Pending), client.DeliverySending: string(outbox.Sending),
		client.DeliverySent: string(outbox.Sent), client.DeliveryUnknown: string(outbox.Unknown),
		client.DeliveryParked: string(outbox.Parked), client.DeliveryDead: string(outbox.Dead),
		client.DeliveryDiscarded: string(outbox.Discarded),
	} {
		if client != written {
			t.Errorf("the client says %q where %q is written", client, written)
		}
	}
	if client.ReasonReleased != string(engine.ReasonReleased) {
		t.Errorf("the client says %q where %q is written", client.ReasonReleased, engine.ReasonReleased)
	}
}

// TestWordsOfTheFlow goes through the built-in flows: their states, their steps and the calls beside them are the client's, and no others.
func TestWordsOfTheFlow(t *testing.T) {
	t.Parallel()
	steps, states := map[string]bool{}, map[string]bool{string(store.Notified): true, string(store.Failed): true}
	for _, name := range []string{client.FlowAssetInference, client.FlowListReport} {
		flow, err := store.LookupFlow(name)
		must(t, err)
		states[string(flow.Initial)] = true
		for _, from := range []store.State{store.Init, store.AssetOnline, store.AssetOffline, store.VulnCheckDone, store.HighRiskFound, store.Gathered, store.Notifying, store.Notified} {
			for _, next := range flow.Next(from) {
				steps[next.Step] = true
				for _, to := range next.States {
					states[string(to)] = true
				}
			}
		}
	}
	wantSteps := []string{client.StepAssess, client.CallFinish, client.StepGather, client.StepIntel, client.CallNotify, client.StepOnline, client.StepVuln}
	if got := slices.Sorted(maps.Keys(steps)); !slices.Equal(got, wantSteps) {
		t.Errorf("the flows' steps are %q, the client's %q", got, wantSteps)
	}
	wantStates := []string{
		client.StateInit, client.StateAssetOnline, client.StateAssetOffline, client.StateVulnCheckDone, client.StateHighRiskFound,
		client.StateGathered, client.StateNotifying, client.StateNotified, client.StateFinished, client.StateFailed,
	}
	slices.Sort(wantStates)
	if got := slices.Sorted(maps.Keys(states)); !slices.Equal(got, wantStates) {
		t.Errorf("the flows' states are %q, the client's %q", got, wantStates)
	}
}

// TestWordsOfEnums: what the document says that a field may hold is what the client has words for.
func TestWordsOfEnums(t *testing.T) {
	t.Parallel()
	deliveries := []string{
		client.DeliveryPending, client.DeliverySending, client.DeliverySent, client.DeliveryUnknown, client.DeliveryParked,
		client.DeliveryDead, client.DeliveryDiscarded,
	}
	schemas := describe(routes, "").Components.Schemas.Map()
	for _, one := range []struct {
		schema, field string
		want          []string
	}{
		{"Claim", "status", []string{client.StatusHeld, client.StatusLost, client.StatusReleased}},
		{"Notification", "severity", client.Severities()},
		{"NotificationRequest", "severity", client.Severities()},
		{"ChannelTestRequest", "severity", client.Severities()},
		{"Delivery", "status", deliveries},
		{"IntentDelivery", "status", deliveries},
	} {
		var got []string
		for _, v := range schemas[one.schema].Properties[one.field].Enum {
			got = append(got, v.(string))
		}
		if !slices.Equal(got, one.want) {
			t.Errorf("%s.%s may be %q, the client has %q", one.schema, one.field, got, one.want)
		}
	}
}

// TestMargin: a claim tells for how much longer its lock stays than it can be relied upon, also when it has ended.
func TestMargin(t *testing.T) {
	t.Parallel()
	h := setup(t) // its TTL is 30 s
	path := h.claim("a", "t")
	var got client.ClaimBody
	for range 2 {
		must(t, json.Unmarshal([]byte(h.wants(h.do("GET", path, ""), http.StatusOK).body), &got))
		trust := got.Claim.TrustSince(time.Hour)
		if trust.Margin != 6*time.Second || got.Claim.Status == client.StatusHeld && (trust.Until <= time.Hour || trust.Until > time.Hour+24*time.Second) {
			t.Errorf("a %s claim has %+v", got.Claim.Status, trust)
		}
		h.wants(h.do("DELETE", path, ""), http.StatusNoContent)
	}
}
