// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// StartReplica starts a replica of a server that demands no password, and waits until it is in step. The args are as for Start.
func StartReplica(t testing.TB, of *Server, args ...string) *Server {
	t.Helper()
	host, port, _ := strings.Cut(of.Addr(), ":")
	s := Start(t, slices.Concat(args, []string{"--replicaof", host, port})...)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s.with(func(r *redis.Client) {
		waitUntil(t, ctx, "the replica in step", func() bool { return linkIsUp(ctx, r) })
	})
	return s
}
