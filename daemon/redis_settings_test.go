// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/engine/redistest"
)

// infoOnly is a server whose user may not use CONFIG.
func infoOnly(t *testing.T, more ...string) *redistest.Server {
	return redistest.Start(t, append([]string{"--user", "picket", "on", ">hunter2", "~*", "&*", "+@all", "-config"}, more...)...)
}

func asPicket(t *testing.T, s *redistest.Server) redis.UniversalClient {
	t.Helper()
	c := RedisConfig{Mode: Standalone, Addrs: []string{s.Addr()}, Username: "picket", PasswordFile: write(t, "password", "hunter2")}
	client, err := c.client(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestF16_ARedisThatEvictsIsRefusedClearly(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(t *testing.T) redis.UniversalClient{
		"standalone": func(t *testing.T) redis.UniversalClient {
			return redistest.Start(t, "--maxmemory-policy", "allkeys-lru").Client()
		},
		"CONFIG forbidden": func(t *testing.T) redis.UniversalClient {
			return asPicket(t, infoOnly(t, "--maxmemory-policy", "allkeys-lru"))
		},
		"the master behind a Sentinel": func(t *testing.T) redis.UniversalClient {
			s := redistest.StartStillSentinel(t)
			if err := s.Master.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
				t.Fatal(err)
			}
			return s.Client()
		},
		"one master of a cluster": func(t *testing.T) redis.UniversalClient {
			c := redistest.StartCluster(t)
			if err := c.Servers[2].Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
				t.Fatal(err)
			}
			return c.Client()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := checkSettings(t.Context(), setup(t))
			if !errors.Is(err, errEviction) || !strings.Contains(err.Error(), `maxmemory-policy is "allkeys-lru": set it to noeviction`) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSettingsThatCannotBeReadAreNoAnswer(t *testing.T) {
	t.Parallel()
	blind := redistest.Start(t, "--user", "picket", "on", ">hunter2", "~*", "&*", "+@all", "-config", "-info")
	if _, err := checkSettings(t.Context(), asPicket(t, blind)); err == nil || !strings.Contains(err.Error(), "+config|get or +info") {
		t.Errorf("got %v", err)
	}
	locked := redistest.Start(t, redistest.User("picket", "another")...)
	if _, err := checkSettings(t.Context(), asPicket(t, locked)); err == nil || strings.Contains(err.Error(), "+info") || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("got %v", err)
	}
	gone := redistest.Start(t)
	client := gone.Client()
	gone.Kill()
	if _, err := checkSettings(t.Context(), client); err == nil || errors.Is(err, errEviction) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := checkSettings(ctx, redistest.Start(t).Client()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestARedisThatKeepsNothingIsAWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client redis.UniversalClient
		warns  bool
	}{
		{"nothing", redistest.Start(t).Client(), true},
		{"appendonly", redistest.Start(t, "--appendonly", "yes").Client(), false},
		{"save", redistest.Start(t, "--save", "3600 1").Client(), false},
		{"not to be known", asPicket(t, infoOnly(t)), false},
	} {
		warnings, err := checkSettings(t.Context(), c.client)
		warns := slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, "writes nothing to disk") })
		if err != nil || warns != c.warns {
			t.Errorf("%s: got %q, %v", c.name, warnings, err)
		}
	}
}
