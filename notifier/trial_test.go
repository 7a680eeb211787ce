// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package notifier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/notifier/channel"
	"github.com/picketd/picket/outbox"
)

func TestATestMessage(t *testing.T) {
	t.Parallel()
	failure := channel.Result{Status: outbox.Dead, Error: "no\x1b such group"}
	w := setup(t, func(_ context.Context, s send) channel.Result {
		if s.channel == "broken" {
			return failure
		}
		return sentResult
	}, channel.Config{Name: "ops", Type: "slack", URL: "https://robots.example.com/", Language: "zh", Rate: "1/h"}, channel.Config{Name: "broken"})
	got, err := w.Test(t.Context(), "ops", "high")
	if err != nil || got.Result != sentResult || got.Type != "slack" {
		t.Errorf("got %+v, %v", got, err)
	}
	sent := w.sent()
	body := string(sent[0].Body)
	if len(sent) != 1 || channel.ID(sent[0].Key) != got.ID || !strings.Contains(body, "测试消息") || !strings.Contains(body, "高危") {
		t.Errorf("sent %s as %s, want id %s", body, sent[0].Key, got.ID)
	}
	if got, err := w.Test(t.Context(), "ops", "high"); err != nil || got.Result.Status != outbox.Pending || got.Result.RetryAfter < 59*time.Minute {
		t.Errorf("past its rate: %+v, %v", got, err)
	}
	if got, err := w.Test(t.Context(), "broken", "info"); err != nil || got.Result.Status != outbox.Dead || got.Result.Error != "no such group" {
		t.Errorf("broken: %+v, %v", got, err)
	}
	if _, err := w.Test(t.Context(), "none", "info"); !errors.Is(err, ErrNoChannel) {
		t.Errorf("none: %v", err)
	}
	if len(w.asked()) > 0 || len(w.told()) > 0 || w.store.Stats().Ready > 0 {
		t.Error("ticket or outbox know of it")
	}
}

// A mail that not all of its recipients got is sent, and who did not get it is on record here.
func TestWhoWasLeftOutIsKept(t *testing.T) {
	t.Parallel()
	left := channel.Result{Status: outbox.Sent, Error: "sent, but not to b@example.com: 550"}
	w := setup(t, always(left), channel.Config{Name: "ops"})
	ref := w.put("w1", "ops")
	w.Start()
	w.untilShut(ref)
	if d := w.get(ref).Channels["ops"]; d.Status != outbox.Sent || d.Error != left.Error {
		t.Errorf("the outbox has %+v", d)
	}
	if told := w.told(); len(told) != 1 || told[0].Error != left.Error {
		t.Errorf("the ticket was told %+v", told)
	}
}
