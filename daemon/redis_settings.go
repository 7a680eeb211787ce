// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// errEviction: a full Redis with any other policy throws locks and tickets away.
var errEviction = errors.New("locks and tickets may be evicted")

// checkSettings asks every master whether it may be trusted with locks. An errEviction is the answer that it may not; any
// other error is no answer. The warnings are about what a restart of Redis would lose.
func checkSettings(ctx context.Context, client redis.UniversalClient) (warnings []string, err error) {
	var mu sync.Mutex
	check := func(ctx context.Context, c *redis.Client) error {
		warning, err := checkServer(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		if warning != "" && !slices.Contains(warnings, warning) {
			warnings = append(warnings, warning)
		}
		return err
	}
	err = eachMaster(ctx, client, check)
	return warnings, err
}

// eachMaster asks every server that takes writes, those of a Cluster at once.
func eachMaster(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, ask)
	case *redis.Client:
		return ask(ctx, c)
	}
	return fmt.Errorf("cannot ask the masters through a %T", client)
}

// serverVersions are those of all masters, each once; none where INFO is forbidden.
func serverVersions(ctx context.Context, client redis.UniversalClient) []string {
	var mu sync.Mutex
	versions := []string{}
	_ = eachMaster(ctx, client, func(ctx context.Context, c *redis.Client) error {
		version, err := infoField(ctx, c, "server", "redis_version")
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		return nil // one that does not say keeps no other from saying
	})
	slices.Sort(versions)
	return versions
}

// checkServer reads the settings with CONFIG GET, or with INFO where an ACL or a hosted Redis forbids CONFIG.
func checkServer(ctx context.Context, c *redis.Client) (warning string, err error) {
	policy, err := setting(ctx, c, "maxmemory-policy")
	if forbidden(err) {
		policy, err = infoField(ctx, c, "memory", "maxmemory_policy")
	}
	switch {
	case forbidden(err):
		return "", fmt.Errorf("cannot read Redis' maxmemory-policy: allow its user +config|get or +info: %w", err)
	case err != nil:
		return "", fmt.Errorf("cannot read Redis' maxmemory-policy: %w", err)
	case policy != "noeviction":
		return "", fmt.Errorf("%w: Redis' maxmemory-policy is %q: set it to noeviction", errEviction, policy)
	}

	save, err := setting(ctx, c, "save")
	if err != nil {
		return "", nil //nolint:nilerr // without CONFIG, whether Redis saves is not to be known, and it is only a warning
	}
	if appendonly, err := setting(ctx, c, "appendonly"); err == nil && save == "" && appendonly == "no" {
		return "Redis writes nothing to disk: when it restarts, locks and tickets are gone; set appendonly or save", nil
	}
	return "", nil
}

// forbidden tells a command that an ACL refuses, or that is renamed away.
func forbidden(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "NOPERM") || strings.HasPrefix(err.Error(), "ERR unknown command"))
}

func setting(ctx context.Context, c *redis.Client, name string) (string, error) {
	values, err := c.ConfigGet(ctx, name).Result()
	return values[name], err
}

func infoField(ctx context.Context, c *redis.Client, section, field string) (string, error) {
	info, err := c.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, field)
}
