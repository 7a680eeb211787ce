// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/picketd/picket/sockapi/client"
)

const task = "w48"

// steps are what an agent records between its claim and its finish.
var steps = []client.StepRequest{
	{Step: client.StepOnline, State: client.StateAssetOnline, Facts: json.RawMessage(`{"port":443,"service":"https","rtt_ms":0.8}`)},
	{
		Step: client.StepVuln, State: client.StateVulnCheckDone, Summary: "2 findings",
		Facts: json.RawMessage(`{"scanner":"example","findings":[{"id":"CVE-2021-44228","severity":"critical","port":8443},{"id":"CVE-2022-22965","severity":"critical","port":8080}]}`),
	},
	{Step: client.StepIntel, State: client.StateVulnCheckDone, Facts: json.RawMessage(`{"exploited":true,"sources":["kev"]}`)},
	{Step: client.StepAssess, State: client.StateFinished, Facts: json.RawMessage(`{"risk":"low","reason":"not reachable from outside"}`), Summary: "low risk"},
}

// assets numbers the assets of a run, so that no two sequences share one.
var assets atomic.Int64

func newAsset() string { return fmt.Sprintf("host-%08d.example.com", assets.Add(1)) }

// sequence is an agent's work over the socket: claim, steps, finish.
func sequence(ctx context.Context, c *client.Client, asset, task string) error {
	r, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task})
	if err != nil {
		return err
	}
	if r.Claim == nil {
		return fmt.Errorf("cannot claim %s: its ticket is terminal", asset)
	}
	for _, s := range steps {
		if _, err := c.Step(ctx, r.Claim.ID, s); err != nil {
			return err
		}
	}
	t, err := c.Finish(ctx, r.Claim.ID, "")
	if err == nil && (t.State != client.StateFinished || len(t.Steps) != len(steps)) {
		return fmt.Errorf("cannot go on: the ticket is in %s with %d steps", t.State, len(t.Steps))
	}
	return err
}

// failing takes a ticket to FAILED.
func failing(ctx context.Context, c *client.Client, asset, task string) error {
	r, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task})
	if err != nil {
		return err
	}
	if _, err := c.Fail(ctx, r.Claim.ID, client.FailureRequest{Step: client.StepOnline, Error: "no route to host", Final: true}); err != nil {
		return err
	}
	return c.Release(ctx, r.Claim.ID)
}

// risky takes a ticket to where people are told, and returns the claim.
func risky(ctx context.Context, c *client.Client, asset string) (id string, err error) {
	r, err := c.Claim(ctx, client.ClaimRequest{Asset: asset, Task: task, Heartbeat: "10m"})
	if err != nil {
		return "", err
	}
	for _, s := range []client.StepRequest{
		steps[0], steps[1], {Step: client.StepAssess, State: client.StateHighRiskFound, Facts: steps[3].Facts, Summary: "high risk"},
	} {
		if _, err := c.Step(ctx, r.Claim.ID, s); err != nil {
			return "", err
		}
	}
	return r.Claim.ID, nil
}
