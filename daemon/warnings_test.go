// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/lookout"
	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// warned returns what is said under a name, an empty Warning if nothing.
func (h *host) warned(t *testing.T, name string) client.Warning {
	t.Helper()
	s, err := h.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Warnings {
		if w.Name == name {
			return w
		}
	}
	return client.Warning{}
}

// TestReadinessKnowsARedisThatTakesNoWrites: it answers PING, and would refuse every claim.
func TestReadinessKnowsARedisThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		closed, again []any
		says          string
	}{
		{
			"full",
			[]any{"config", "set", "maxmemory", "1"},
			[]any{"config", "set", "maxmemory", "0"},
			"out of memory",
		},
		{
			"no permission to write",
			[]any{"acl", "setuser", "default", "-@write"},
			[]any{"acl", "setuser", "default", "+@write"},
			"can't run this command",
		},
		{
			"no permission to run scripts",
			[]any{"acl", "setuser", "default", "-@scripting"},
			[]any{"acl", "setuser", "default", "+@scripting"},
			"permission",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, nil)
			h.start(t)
			eventually(t, "the daemon is ready", func() bool { return h.Status().Ready })
			operator := h.redis.Client()
			if err := operator.Do(t.Context(), c.closed...).Err(); err != nil {
				t.Fatal(err)
			}
			if says := h.check(t, "redis_writes"); !strings.Contains(says, c.says) || h.Status().Ready {
				t.Errorf("it says %q", says)
			}
			if says := h.check(t, "redis"); says != "" {
				t.Errorf("a Redis that answers is told as away: %s", says)
			}
			if err := operator.Do(t.Context(), c.again...).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the daemon is ready again", func() bool { return h.Status().Ready })
		})
	}
}

func TestWarningsAreShown(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	eventually(t, "Redis' settings are known", func() bool { return h.warned(t, "redis_settings").Message != "" })
	if w := h.warned(t, "configuration"); w.Message != "" {
		t.Errorf("it warns of %+v", w)
	}
	if err := os.Chmod(h.config.StateDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if w := h.warned(t, "configuration"); w.Alarm || !strings.Contains(w.Message, "state_dir is unwise") {
		t.Errorf("it warns of %+v", w)
	}
	s, err := h.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Redis.Versions) != 1 || s.Redis.ClockOffsetMS == nil || s.Users.Limit != 10000 || len(s.Fleet) != 0 {
		t.Errorf("the status is %+v", s)
	}
}

// TestAnOutboxAtItsLimitIsShown: every check is well, so a warning says why notifications are refused, until there is room again.
func TestAnOutboxAtItsLimitIsShown(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.Outbox.MaxSizeMiB = 1 })
	h.start(t)
	in := func(i int) outbox.Intent {
		return outbox.Intent{
			Ref:   outbox.Ref{Ticket: "web-01/full", ID: fmt.Sprint("full-", i)},
			Asset: "web-01", Task: "full", Run: 1, Key: "k", At: time.Now(), Content: make([]byte, 20<<10),
		}
	}
	var accepted []outbox.Ref
	for i := 0; h.outbox.Full() == nil && i < 400; i++ { // what fails once may have made room
		if err := h.outbox.Adopt(in(i)); err == nil {
			accepted = append(accepted, in(i).Ref)
		} else if !errors.Is(err, outbox.ErrFull) {
			t.Fatal(err)
		}
	}
	if w := h.warned(t, "outbox"); !strings.Contains(w.Message, "outbox.max_size_mib (1 MiB): raise it") {
		t.Errorf("with %d in it, it warns of %+v", len(accepted), w)
	}
	for _, ref := range accepted {
		if err := h.outbox.Shut(ref); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "there is room again", func() bool { return h.warned(t, "outbox").Message == "" })
}

// TestALostStoreIsShown: the daemon serves on, and says what happened.
func TestALostStoreIsShown(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	h.start(t)
	redis := h.redis.Client()
	eventually(t, "the incarnation is made", func() bool { return redis.Exists(t.Context(), "picket:store:0").Val() == 1 })
	eventually(t, "the alarm is raised", func() bool {
		if err := redis.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return h.warned(t, lookout.AlarmStoreReset).Alarm
	})
	if w := h.warned(t, lookout.AlarmStoreReset); w.At == nil || !strings.Contains(w.Message, "Redis lost its data") || !h.Status().Ready {
		t.Errorf("it says %+v", w)
	}
}

func TestTheFleetIsShown(t *testing.T) {
	t.Parallel()
	a := setup(t, nil)
	a.start(t)
	b := setup(t, func(c *Config) { c.Host, c.Redis.Addrs = "host-b", a.config.Redis.Addrs })
	b.start(t)
	eventually(t, "each sees the other", func() bool {
		sa, sb := a.Status(), b.Status()
		return len(sa.Fleet) == 1 && sa.Fleet[0] == client.Member{ID: sb.ID, Host: "host-b", Lives: true} &&
			len(sb.Fleet) == 1 && sb.Fleet[0].Host == "host-a"
	})
	eventually(t, "each knows what the other told", func() bool {
		list, err := a.client.Hosts(t.Context())
		if err != nil || len(list.Hosts) != 2 {
			return false
		}
		for _, h := range list.Hosts {
			if h.Version != Version().Version || !h.Alive || h.SignedAt == nil || h.Since == nil || h.LockTTLMS == 0 || len(h.Warnings) == 0 {
				return false
			}
		}
		return list.Hosts[1].Host == "host-b" && list.Hosts[1].ID == b.Status().ID
	})
	b.stop(t)
	if err := a.redis.Client().ZAdd(t.Context(), "picket:fleet:{fleet}:signs", redis.Z{Score: 1, Member: a.Status().Fleet[0].ID}).Err(); err != nil {
		t.Fatal(err)
	}
	if m := a.Status().Fleet; len(m) != 1 || m[0].Lives {
		t.Errorf("of a daemon whose sign is gone it says %+v", m)
	}
}

func TestExamineNeedsNoDaemon(t *testing.T) {
	t.Parallel()
	h := setup(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	examine := func() (bad string) {
		t.Helper()
		checks, server, _, err := h.config.Examine(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			bad += c.Error
		}
		if bad == "" && (len(checks) != 5 || len(server.Versions) != 1 || server.ClockOffsetMS == nil || len(server.Servers) != 1) {
			t.Errorf("the checks are %+v, the server %+v", checks, server)
		}
		return bad
	}
	if bad := examine(); bad != "" {
		t.Error(bad)
	}
	if err := h.redis.Client().ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if bad := examine(); !strings.Contains(bad, "noeviction") {
		t.Errorf("it says %q", bad)
	}
	h.redis.Kill()
	if bad := examine(); !strings.Contains(bad, "cannot use Redis") {
		t.Errorf("it says %q", bad)
	}
}
