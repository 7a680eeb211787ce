// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/picketd/picket/engine/delivery"
	"github.com/picketd/picket/sockapi/client"
)

func TestAChannelIsTested(t *testing.T) {
	t.Parallel()
	var severities []string
	h := serve(t, Config{TestChannel: func(_ context.Context, name, severity string) (client.ChannelTest, error) {
		severities = append(severities, severity)
		if name != "ops" {
			return client.ChannelTest{}, delivery.ErrUnknownChannel
		}
		return client.ChannelTest{Channel: name, Type: "wecom", ID: "01234567", Status: client.DeliveryPending, Error: "code 45009", RetryAfterMS: 60_000, TookMS: 12}, nil
	}})
	want := client.ChannelTest{Channel: "ops", Type: "wecom", ID: "01234567", Status: client.DeliveryPending, Error: "code 45009", RetryAfterMS: 60_000, TookMS: 12}
	if got, err := h.client.TestChannel(t.Context(), "ops", "high"); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	h.wants(h.do("POST", "/v1/channels/ops/test", ""), http.StatusOK)
	if len(severities) != 2 || severities[0] != "high" || severities[1] != "info" {
		t.Errorf("the severities are %v", severities)
	}
	_, err := h.client.TestChannel(t.Context(), "no/such", "")
	var p *client.Problem
	if !errors.As(err, &p) || p.Code != client.UnknownChannel {
		t.Errorf("no/such: %v", err)
	}
	h.refused(h.do("POST", "/v1/channels/ops/test", `{"severity":"fatal"}`), client.Invalid)
}
