// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

// devHost is a daemon as picket dev runs it, with the embedded Redis in the test's own process.
func devHost(t *testing.T) (*Daemon, *client.Client, *lines) {
	t.Helper()
	dev, err := NewDev()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- RunEmbeddedRedis(ctx, dev.RedisAddr, dev.RedisPassword) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		os.RemoveAll(dev.Dir)
	})
	output := &lines{}
	d, err := New(dev.Config, Options{Output: output, Audit: &lines{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	agent := client.New(dev.Config.Socket.Path)
	t.Cleanup(agent.CloseIdleConnections)
	return d, agent, output
}

func TestDevRunsAnAssetThroughTheFlow(t *testing.T) {
	t.Parallel()
	_, agent, output := devHost(t)
	ctx := t.Context()
	granted, err := agent.Claim(ctx, client.ClaimRequest{Asset: "web-01", Task: "w48", Heartbeat: "1m"})
	if err != nil {
		t.Fatal(err)
	}
	id := granted.Claim.ID
	for _, r := range []client.StepRequest{
		{Step: client.StepOnline, State: client.StateAssetOnline}, {Step: client.StepVuln, State: client.StateVulnCheckDone}, {Step: client.StepAssess, State: client.StateHighRiskFound},
	} {
		if _, err := agent.Step(ctx, id, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := agent.Notify(ctx, id, client.NotificationRequest{Title: "critical on web-01", Text: "patch", Severity: client.SeverityCritical}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	ticket, err := agent.Finish(ctx, id, "")
	if err != nil || ticket.State != client.StateFinished {
		t.Errorf("got %s, %v", ticket.State, err)
	}
	if !strings.Contains(output.String(), "critical on web-01") {
		t.Errorf("the terminal shows %q", output)
	}
}

func TestTheEmbeddedRedisExpiresKeysAndWantsItsPassword(t *testing.T) {
	t.Parallel()
	d, _, _ := devHost(t)
	ctx := t.Context()
	if err := d.redis.Set(ctx, "k", "v", 50*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key is gone", func() bool { return d.redis.Exists(ctx, "k").Val() == 0 })

	open, err := RedisConfig{Mode: Standalone, Addrs: d.config.Redis.Addrs}.client(0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := open.Set(ctx, "k", "v", 0).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: got %v", err)
	}
	if err := RunEmbeddedRedis(ctx, "unix:///nowhere", ""); err == nil {
		t.Error("it runs without a password")
	}
}

func TestOfTheEmbeddedRedisNothingIsWarned(t *testing.T) {
	t.Parallel()
	d, _, _ := devHost(t)
	if warnings, err := checkSettings(t.Context(), d.redis); err != nil || len(warnings) > 0 {
		t.Errorf("got %q, %v", warnings, err)
	}
}

func TestADevFolderIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dev, err := NewDev()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dev.Dir)
	info, err := os.Stat(dev.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := dev.Config.Validate(); err != nil {
		t.Error(err)
	}
	var banner strings.Builder
	dev.PrintBanner(&banner)
	if s := banner.String(); !strings.Contains(s, "It keeps nothing") || strings.Contains(s, dev.RedisPassword) {
		t.Errorf("the banner is %s", s)
	}
}
