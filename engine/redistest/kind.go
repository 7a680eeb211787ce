// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Kinds are the set-ups of Redis that the contract holds on: one server; a master with a replica, found through a Sentinel; and a
// Cluster of three masters with a replica each.
var Kinds = []string{"standalone", "sentinel", "cluster"}

// Switch is the environment variable that says on which kinds a test of the contract runs: all, or the name of one.
const Switch = "PICKET_REDIS"

// numbered is the name of a test that holds a guarantee or a failure.
var numbered = regexp.MustCompile(`^Test[GF]\d`)

// Round is the kinds on which a test of the contract runs: those that the Switch says. Without it, standalone and cluster, and sentinel
// for tests that carry the number of a guarantee or failure.
func Round(t testing.TB) []string {
	t.Helper()
	switch chosen := os.Getenv(Switch); {
	case chosen == "all", chosen == "" && numbered.MatchString(t.Name()):
		return Kinds
	case chosen == "":
		return []string{"standalone", "cluster"}
	case slices.Contains(Kinds, chosen):
		return []string{chosen}
	default:
		t.Fatalf("%s is %q: write all, or one of %q", Switch, chosen, Kinds)
		return nil
	}
}

// Some is Round for a test that starts a Redis of its own, which takes seconds, on these kinds: without the Switch it runs on the first.
func Some(t testing.TB, kinds ...string) []string {
	t.Helper()
	if os.Getenv(Switch) == "" {
		return kinds[:1]
	}
	chosen := Round(t)
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(chosen, kind) })
}

// StartKind starts a set-up in which nothing fails over by itself, and returns what connects to it as the default user and retries
// nothing. The options are the caller's to change; the args are for each server that holds data.
func StartKind(t testing.TB, kind string, args ...string) *redis.UniversalOptions {
	t.Helper()
	o := &redis.UniversalOptions{ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true}
	switch kind {
	case "standalone":
		s := Start(t, args...)
		o.Addrs, o.MaintNotificationsConfig = []string{s.Addr()}, s.Options().MaintNotificationsConfig
	case "sentinel":
		s := startSentinelSet(t, stillness, args)
		o.Addrs, o.MasterName = s.Addrs(), s.MasterName
	case "cluster":
		c := StartReplicatedCluster(t, slices.Concat(args, []string{"--cluster-node-timeout", "300000"})...)
		o.Addrs, o.MaintNotificationsConfig = c.Addrs(), c.Options().MaintNotificationsConfig
	default:
		t.Fatalf("there is no kind %q of Redis: it is one of %q", kind, Kinds)
	}
	return o
}
