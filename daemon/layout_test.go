// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/engine/store"
)

// TestADaemonDoesNotStartOnDataOfAnotherLayout: it says what it found, and so does each check; a running daemon is not ready.
func TestADaemonDoesNotStartOnDataOfAnotherLayout(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	redis := h.redis.Client()
	eventually(t, "the layout is written", func() bool { return redis.HGet(t.Context(), "picket:store:0", "layout").Val() == store.Layout })
	if err := h.config.CheckRedis(t.Context()); err != nil {
		t.Error(err)
	}
	if err := redis.HSet(t.Context(), "picket:store:0", "layout", "1000").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the alarm is raised", func() bool { return h.warned(t, lookout.AlarmLayout).Alarm })
	if says := h.check(t, "layout"); !strings.Contains(says, "has layout 1000 (picket:store:0)") || h.Status().Ready {
		t.Errorf("it says %q", says)
	}
	h.stop(t)
	if err := h.config.CheckRedis(t.Context()); !errors.Is(err, strict.ErrConfig) || !strings.Contains(err.Error(), "layout 1000") {
		t.Errorf("a check of the configuration says %v", err)
	}
	checks, _, _, err := h.config.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Name == "layout" && c.OK {
			t.Error("an examination finds nothing wrong")
		}
	}
	again := setup(t, func(c *Config) { c.Redis.Addrs = h.config.Redis.Addrs })
	if err := again.Start(); !errors.Is(err, strict.ErrConfig) || !strings.Contains(err.Error(), "layout 1000") {
		t.Errorf("a start says %v", err)
	}
}
