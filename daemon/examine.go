// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/engine"
	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// Examine asks Redis, with a configuration that is valid, what a daemon would ask it: for when none runs. What it cannot ask is
// missing in the answer.
func (c Config) Examine(ctx context.Context) (checks []client.Check, server client.RedisStatus, warnings []string, err error) {
	server = client.RedisStatus{Mode: c.Redis.Mode, Versions: []string{}}
	rdb, eng, err := c.examiner()
	if err != nil {
		return nil, server, nil, err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	away := eng.Ping(ctx)
	checks = append(checks, check("redis", c.Redis.explained(ctx, away)))
	if away != nil && !strings.Contains(away.Error(), "NOPERM") {
		return checks, server, nil, nil
	}
	warnings, settings := checkSettings(ctx, rdb)
	unlooked, denied := c.Redis.checkPermissions(ctx, rdb)
	checks = append(checks, check("layout", eng.Layout(ctx)), check("permissions", denied), check("redis_writes", eng.Probe(ctx)), check("settings", settings))
	server, _ = c.Redis.facts(ctx, rdb)
	if offset, err := eng.ClockOffset(ctx); err == nil {
		ms := offset.Milliseconds()
		server.ClockOffsetMS = &ms
	}
	return checks, server, append(warnings, unlooked...), nil
}

// CheckRedis is an ErrConfig when Redis answers, and what stands there has another layout than this version writes, or it refuses the
// connection, or its ACL denies what the daemon needs.
func (c Config) CheckRedis(ctx context.Context) error {
	rdb, eng, err := c.examiner()
	if err != nil {
		return err
	}
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(ctx, settingsLimit)
	defer cancel()
	if err := eng.Ping(ctx); err != nil && !strings.Contains(err.Error(), "NOPERM") {
		if why := c.Redis.explain(ctx); why != nil {
			return strict.Error{"redis: " + why.Error()}
		}
		return nil
	}
	if err, other := errors.AsType[*store.LayoutError](eng.Layout(ctx)); other {
		return strict.Error{err.Error()}
	}
	if _, err := c.Redis.checkPermissions(ctx, rdb); errors.Is(err, errPermission) {
		return strict.Error{"redis: " + err.Error()}
	}
	return nil
}

// examiner asks Redis, and starts nothing. The client is the caller's to close.
func (c Config) examiner() (redis.UniversalClient, *engine.Engine, error) {
	rdb, err := c.Redis.client(0)
	if err != nil {
		return nil, nil, strict.Error{err.Error()}
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	redis.SetLogger(redisLog{quiet})
	eng, err := engine.New(engine.Config{Redis: rdb, Prefix: c.Redis.Prefix, Logger: quiet})
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	return rdb, eng, nil
}

// AuditMarks reads what the daemon of a configuration kept; nothing when it kept none. An empty path is the default configuration.
func AuditMarks(path string) ([]audit.Mark, error) {
	c, err := LoadConfigStaleCredentials(path)
	if err != nil {
		c = DefaultConfig()
	}
	return audit.Marks(c.StateDir)
}

// CanonicalAsset is an asset as it stands in records. Its error is an engine.ErrInvalidAsset.
func CanonicalAsset(asset string) (string, error) {
	a, err := store.ParseAsset(asset)
	return string(a), err
}
