// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/agent/strict"
	"github.com/picketd/picket/engine/redistest"
	"github.com/picketd/picket/sockapi/client"
)

// TestEachPermissionThatIsMissingIsNamed takes one rule of packaging/redis.acl away at a time. That all of them are enough the contract
// shows, which logs in with them (engine/engine_test.go).
func TestEachPermissionThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	password := write(t, "password", redistest.LeastPassword)
	standalone := redistest.Start(t, redistest.Least(t)...)
	cluster := redistest.StartCluster(t, redistest.Least(t)...)
	for _, kind := range []RedisConfig{
		{Mode: Standalone, Addrs: []string{standalone.Addr()}},
		{Mode: Cluster, Addrs: cluster.Addrs()},
	} {
		servers := cluster.Servers
		if kind.Mode == Standalone {
			servers = []*redistest.Server{standalone}
		}
		as := func(user string) Config {
			c := DefaultConfig()
			c.Redis = kind
			c.Redis.Username, c.Redis.PasswordFile, c.Redis.Prefix = user, password, "picket"
			return c
		}
		t.Run(kind.Mode, func(t *testing.T) {
			t.Parallel()
			if err := as(redistest.LeastUser).CheckRedis(t.Context()); err != nil {
				t.Errorf("with all of them: %v", err)
			}
			rules := redistest.LeastRules(t)
			for _, rule := range rules {
				if !strings.ContainsAny(rule[:1], "+~&") {
					continue
				}
				user := "without" + strings.Trim(rule, "+~&:*")
				if rule[0] == '&' {
					user = "deaf"
				}
				left := slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule })
				for _, s := range servers {
					setUser(t, s, user, left)
				}
				clustered := rule == "+asking" || strings.HasPrefix(rule, "+cluster|")
				missing(t, as(user), rule, kind.Mode == Cluster || !clustered)
			}
		})
	}
}

func setUser(t *testing.T, s *redistest.Server, user string, rules []string) {
	t.Helper()
	call := []any{"acl", "setuser", user, "reset", "on", ">" + redistest.LeastPassword}
	for _, r := range rules {
		call = append(call, r)
	}
	if err := s.Client().Do(t.Context(), call...).Err(); err != nil {
		t.Fatal(err)
	}
}

// missing looks whether the check of a configuration, and what picket doctor asks, name a rule.
func missing(t *testing.T, c Config, rule string, needed bool) {
	t.Helper()
	err := c.CheckRedis(t.Context())
	checks, _, warnings, failed := c.Examine(t.Context())
	if failed != nil {
		t.Errorf("without %s: %v", rule, failed)
	}
	said := strings.Join(warnings, "\n")
	for _, check := range checks {
		said += "\n" + check.Name + ": " + check.Error
	}
	switch {
	case !needed:
		if err != nil || slices.ContainsFunc(checks, func(c client.Check) bool { return !c.OK }) {
			t.Errorf("without %s, which is not needed here: %v\n%s", rule, err, said)
		}
	case optional[rule] != "":
		if err != nil || !strings.Contains(said, rule) {
			t.Errorf("without %s: %v, and doctor says\n%s", rule, err, said)
		}
	case !errors.Is(err, strict.ErrConfig) || !strings.HasSuffix(err.Error(), "denies the user "+c.Redis.Username+" "+rule):
		t.Errorf("without %s, --check says: %v", rule, err)
	case !strings.Contains(said, "permissions: the ACL of Redis denies the user "+c.Redis.Username+" "+rule):
		t.Errorf("without %s, doctor says:\n%s", rule, said)
	}
}

// TestPermissionsAreThoseOfThePackage: what is asked for is what packaging/redis.acl gives.
func TestPermissionsAreThoseOfThePackage(t *testing.T) {
	t.Parallel()
	asked := []string{"+subscribe", "+unsubscribe", "+ssubscribe", "+sunsubscribe"}
	for _, p := range permissions(Cluster, "picket:x") {
		asked = append(asked, p.rule)
	}
	given := slices.DeleteFunc(redistest.LeastRules(t), func(rule string) bool { return rule[0] != '+' })
	slices.Sort(asked) // as the file is
	if !slices.Equal(asked, given) {
		t.Errorf("asked for %v\ngiven %v", asked, given)
	}
}

// TestADaemonSaysWhatRedisDenies: it goes on, and tells until it is put right.
func TestADaemonSaysWhatRedisDenies(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Least(t)...)
	setUser(t, s, redistest.LeastUser, slices.DeleteFunc(redistest.LeastRules(t), func(r string) bool { return r == "+zcount" }))
	c := RedisConfig{
		Mode: Standalone, Addrs: []string{s.Addr()}, Prefix: "picket", Username: redistest.LeastUser,
		PasswordFile: write(t, "password", redistest.LeastPassword),
	}
	rdb, err := c.client(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rdb.Close() })
	w := newSettingsWatch(rdb, c, slog.New(slog.DiscardHandler))
	w.check(t.Context())
	w.permissions(t.Context())
	if said := strings.Join(w.unwise(), "\n"); !strings.Contains(said, "denies the user picket +zcount: picket doctor") || w.gate() != nil {
		t.Errorf("it says %q, and of new claims %v", said, w.gate())
	}
	setUser(t, s, redistest.LeastUser, redistest.LeastRules(t))
	w.check(t.Context())
	w.permissions(t.Context())
	if said := strings.Join(w.unwise(), "\n"); strings.Contains(said, "denies") {
		t.Errorf("put right, it still says %q", said)
	}
	if left := s.Client().Exists(t.Context(), "picket:"+probe).Val(); left != 0 {
		t.Error("the probe is left in Redis")
	}
}

// TestTheLeastUserOfASentinelIsEnough: to find the master, to follow a failover, and to tell how the Sentinels do. Without what it takes to
// find the master, the error names the command.
func TestTheLeastUserOfASentinelIsEnough(t *testing.T) {
	t.Parallel()
	set := redistest.StartStillSentinel(t, redistest.Least(t)...)
	rules := redistest.LeastSentinelRules(t)
	setUser(t, set.Sentinel, redistest.LeastUser, rules)
	password := write(t, "password", redistest.LeastPassword)
	c := DefaultConfig()
	c.Redis = RedisConfig{
		Mode: Sentinel, Addrs: set.Addrs(), Master: set.MasterName, Prefix: "picket",
		Username: redistest.LeastUser, PasswordFile: password, Sentinel: RedisLogin{redistest.LeastUser, password},
	}
	rdb, err := c.Redis.client(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rdb.Close() })
	within := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not within a minute: %s", what)
			}
		}
	}
	write := func() bool { return rdb.Set(t.Context(), "picket:x", "1", 0).Err() == nil }
	within("a write", write)
	if s := c.Redis.askSentinel(t.Context(), set.Addrs()[0]); s.Error != "" || s.Master != set.Master.Addr() {
		t.Errorf("the Sentinel says %+v", s)
	}
	set.Failover()
	within("a write after a failover", write)

	setUser(t, set.Sentinel, redistest.LeastUser, slices.DeleteFunc(rules, func(r string) bool { return r == "+sentinel|get-master-addr-by-name" }))
	if checks, _, _, _ := c.Examine(t.Context()); checks[0].OK || !strings.Contains(checks[0].Error, "NOPERM") {
		t.Errorf("it says %+v", checks[0])
	}
}
