// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/audit"
)

// unwatched is a Watch that remembers nothing.
type unwatched struct{}

func (unwatched) Token(Asset) int64         { return 0 }
func (unwatched) Found(Asset, int64, int64) {}
func (unwatched) Wrote(string, int64)       {}
func (unwatched) Stores() map[string]string { return nil }

// over is a store over a Redis of its own.
func over(t *testing.T, c redis.UniversalClient) *Store {
	t.Helper()
	s, err := New(Config{
		Redis: c, Urgent: c, Prefix: "picket", Host: "host-a", Keep: time.Hour, KeepGrants: time.Hour, Watch: unwatched{},
		Audit: func(audit.Event) {}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
